"""Walks the README as somebody who has nothing yet: every install line, every seat's examples in a bare environment.

    python tools/newcomer.py

It unpacks the source distribution as the clone, makes a virtual environment for each way to install and for each extra,
and runs what stands there, word for word. What prints something else than the README says, or anything on standard
error, is shown, and ends the walk. It needs uv; packages come from its cache, or from the index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
_BLOCK = re.compile(r"```(python|sh)\n(.*?)```(?:\s*```(?:text|xml|json)\n(.*?)```)?", re.DOTALL)
_INSTALL = re.compile(r'pip install "([^"]+)"')
_EXTRA = re.compile(r'"(\.\[[\w,-]+\])"')
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_SEATS = ("If you ", "From the command line")
_COMING = "is being built"
_TAKEN_ALONG = ("Makefile", "README.md", "CHANGELOG.md", "LICENSE", "docs", "tests", "tools", "uv.lock")
# What the README says about a wrong argument, asked of the server that it shows.
_ASK = """
import asyncio

from mcp import Client

from example_1 import server


async def main() -> None:
    async with Client(server) as client:
        result = await client.call_tool("search", {"qeury": "tea"})
        assert result.is_error and "query" in result.content[0].text, result
        assert not (await client.call_tool("search", {"query": "tea"})).is_error


asyncio.run(main())
"""
_FASTMCP = 'import failwell.server\nfrom fastmcp import FastMCP\n\nfailwell.server.install(FastMCP("shop"))\n'


class Stumble(Exception):
    """Something that the README did not prepare for."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="failwell-newcomer-") as folder:
        try:
            for step in walk(Path(folder)):
                print(step, flush=True)
        except Stumble as stumble:
            print(f"stumbled: {stumble}", file=sys.stderr)
            return 1
    return 0


def walk(folder: Path) -> Iterator[str]:
    clone = unpacked(folder)
    sections = dict(_SECTION.findall((clone / "README.md").read_text("utf-8")))
    yield from install_every_way(sections["Install"], clone, folder)
    made: dict[str, Path] = {}

    def python_with(wanted: str) -> Path:
        if wanted not in made:
            made[wanted] = environment(folder / f"with-{len(made)}", wanted, clone)
        return made[wanted]

    for title, text in sections.items():
        examples = _BLOCK.findall(text)
        if not title.startswith(_SEATS):
            continue
        if not examples:
            if _COMING not in text:
                raise Stumble(f"{title}: there is nothing to try, and nothing says why")
            yield f"{title}: to come"
            continue
        scratch = folder / title
        scratch.mkdir()
        wanted, *others = _EXTRA.findall(text) or [".[mcp]"]
        python = python_with(wanted)
        for number, (language, code, output) in enumerate(examples, 1):
            if language == "python":
                (scratch / f"example_{number}.py").write_text(code, "utf-8")
                expect([python, f"example_{number}.py"], scratch, output)
            else:
                expect(["sh", "-e", "-c", code], scratch, None, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")
        if title == "If you write a server":
            expect([python, "-c", _ASK], scratch, "")
            for other in others:
                expect([python_with(other), "-c", _FASTMCP], scratch, "")
        yield f"{title}: {len(examples)} examples with {', '.join([wanted, *others])}"


def install_every_way(text: str, clone: Path, folder: Path) -> Iterator[str]:
    """Each line of the install block; a wheel is made by pip itself, and everything else goes through uv's cache."""
    (block,) = (code for language, code, _ in _BLOCK.findall(text) if language == "sh")
    for number, line in enumerate(each.partition("#")[0].strip() for each in block.splitlines()):
        wanted = _INSTALL.findall(line)
        if wanted:
            python = environment(folder / f"way-{number}", wanted[0].replace("/path/to/failwell", str(clone)), clone)
            expect([python.with_name("failwell"), "--version"], folder, None)
            expect([python, "-c", "import failwell.server, mcp"], folder, "")
        else:
            python = environment(folder / f"way-{number}", "pip", clone)
            run(["sh", "-e", "-c", line], clone, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")
        yield f"Install: {line}"


def unpacked(folder: Path) -> Path:
    """The source distribution, as what somebody has who took the sources along."""
    run([UV, "build", "--quiet", "--sdist", "--out-dir", folder / "sdist", ROOT], folder)
    (archive,) = (folder / "sdist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "clone", filter="data")
    (clone,) = (folder / "clone").iterdir()
    if lacking := [name for name in _TAKEN_ALONG if not (clone / name).exists()]:
        raise Stumble(f"the source distribution lacks {', '.join(lacking)}")
    return clone


def environment(where: Path, wanted: str, clone: Path) -> Path:
    """The Python of a new virtual environment with what is wanted."""
    run([UV, "venv", "--quiet", "--python", sys.executable, where], clone)
    # A path with an extra is what pip understands; uv wants it with its folder.
    given = f"./{wanted}" if wanted.startswith("dist/") else wanted
    run([UV, "pip", "install", "--quiet", "--python", where / "bin" / "python", given], clone)
    return where / "bin" / "python"


def expect(command: list[str | Path], folder: Path, output: str | None, **environment: str) -> None:
    """Run it: nothing on standard error, and on standard output what was said; None for anything."""
    done = run(command, folder, **environment)
    # What a command remarks about its work is no error.
    complaint = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("failwell: ")]
    if complaint or (output is not None and done.stdout.strip() != output.strip()):
        raise Stumble(
            f"{shown(command)}\nprinted:\n{done.stdout}{done.stderr}\nand not:\n{output or '(nothing wrong)'}"
        )


def run(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # Nothing of the environment this runs in: a newcomer has none of it.
    bare: Mapping[str, str] = {
        name: value
        for name, value in os.environ.items()
        if name not in ("VIRTUAL_ENV", "PYTHONPATH", "UV_PROJECT_ENVIRONMENT")
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env={**bare, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Stumble(f"{shown(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def shown(command: list[str | Path]) -> str:
    return " ".join(map(str, command))


if __name__ == "__main__":
    sys.exit(main())
