"""`failwell manifest`: what each tool of a server is and how it may fail, to be written down and checked."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from failwell.examples import EXAMPLES
from failwell.packages import MissingPackage

from .io import Commands, Stop, interruptible, seconds, write_file
from .targets import load_manifest, load_object

if TYPE_CHECKING:
    from failwell.manifest import Manifest, ServerTools

TIMEOUT: Final = 30
_EPILOG = """\
TARGET is a server in a module (pkg.mod:server, or a function that makes one), the name of an example, the address of a
server, or a command after --. Several of them, such as one for each profile, have one manifest together.

examples:
  failwell manifest social                             print the manifest of an example
  failwell manifest shop.server:mcp --write tools.json
  failwell manifest shop.server:mcp --check tools.json     fails if a tool was added, removed or changed
  failwell manifest --markdown -- python shop.py       a table for documentation
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "manifest",
        help="write or check the manifest of a server's tools",
        usage="failwell manifest [--write FILE | --check FILE | --markdown] [--profile NAME] [--seen FILE] TARGET...\n"
        "       failwell manifest [...] -- CMD...",
        description="Prints every tool of a server with what it needs and how it may fail.",
        epilog=_EPILOG,
    )
    parser.add_argument("target", nargs="*", metavar="TARGET", help="pkg.mod:server, an example, or a URL")
    parser.add_argument("--write", metavar="FILE", help="write the manifest to a file instead")
    parser.add_argument("--check", metavar="FILE", help="compare with a file; 1 if anything differs, or there is none")
    parser.add_argument("--profile", metavar="NAME", help="only the tools of a profile")
    parser.add_argument("--markdown", action="store_true", help="print a table for documentation")
    parser.add_argument(
        "--timeout", type=seconds, default=TIMEOUT, metavar="S", help=f"seconds to wait for the server; {TIMEOUT}"
    )
    parser.add_argument("--seen", metavar="FILE", help="codes that a failwell.manifest.Recorder saw")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    from failwell.manifest import markdown, problems

    manifest = _build(options)
    if options.profile is not None:
        manifest = manifest.profile(options.profile)
        if not manifest.tools:
            raise Stop(f"no tool is in the profile {options.profile!r}")
    wrong = (*manifest.undeclared, *problems(manifest))
    for note in (*manifest.notes, *wrong):
        print(f"failwell: {note}", file=sys.stderr)
    if options.check is not None:
        return _compare_with(options.check, manifest) or (1 if wrong else 0)
    text = markdown(manifest) if options.markdown else manifest.to_json()
    write_file(options.write or "-", text)
    if options.write is not None:
        print(f"{len(manifest.tools)} tools written to {options.write}", file=sys.stderr)
    return 0


def _compare_with(path: str, manifest: Manifest) -> int:
    from failwell.manifest import differences

    if not Path(path).exists():
        print(f"failwell: there is no {path}; write it with --write {path}", file=sys.stderr)
        return 1
    lines = differences(load_manifest(path), manifest)
    for line in lines:
        print(line)
    if lines:
        print(f"failwell: {path} differs from the server; if that is meant: --write {path}", file=sys.stderr)
    return 1 if lines else 0


def _build(options: Namespace) -> Manifest:
    command = options.after
    if bool(options.target) is bool(command):
        raise Stop("name a target: pkg.mod:server, an example, a URL, or a command after --")
    from failwell.manifest import build, read_seen

    try:
        seen = read_seen(options.seen) if options.seen is not None else None
    except OSError as problem:
        raise Stop(f"cannot read {options.seen}: {problem.strerror}") from None
    sources: list[ServerTools] = []
    for target in options.target or (" ".join(command),):
        try:
            sources += _sources(target, command, options.timeout)
        except (Stop, MissingPackage):
            raise
        except TimeoutError:
            raise Stop(
                f"{target} did not answer within {options.timeout:g} seconds; is it an MCP server? "
                "--timeout gives it longer"
            ) from None
        except Exception as problem:
            raise Stop(f"{target} does not answer as an MCP server: {_innermost(problem)}") from None
    return build(sources, seen)


def _sources(target: str, command: list[str], timeout: float) -> list[ServerTools]:
    from failwell.manifest import of_command, of_server, of_url

    if command:
        return [_within(timeout, of_command, command)]
    if "://" in target:
        return [_within(timeout, of_url, target)]
    return [_within(timeout, of_server, server) for server in _servers(target)]


def _within(timeout: float, list_tools: Callable[[Any], Awaitable[ServerTools]], target: Any) -> ServerTools:
    import anyio

    async def listed() -> ServerTools:
        with anyio.fail_after(timeout):
            return await list_tools(target)

    with interruptible():
        return anyio.run(listed)


def _servers(target: str) -> list[Any]:
    if target in EXAMPLES:
        from failwell import examples

        return examples.profiles(target)
    if not all(target.partition(":")):
        raise Stop(f"{target!r} is no target; it looks like pkg.mod:server, or is one of: {', '.join(EXAMPLES)}")
    found = load_object(target)
    if callable(found) and not hasattr(found, "list_tools"):
        found = found()
    if not hasattr(found, "run"):
        raise Stop(f"{target} is a {type(found).__name__}; name one MCPServer, low-level mcp Server or FastMCP")
    return [found]


def _innermost(problem: BaseException) -> str:
    while isinstance(problem, BaseExceptionGroup) and problem.exceptions:
        problem = problem.exceptions[0]
    return f"{type(problem).__name__}: {str(problem)[:200]}"
