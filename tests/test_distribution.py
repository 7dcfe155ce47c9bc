"""What an index shows of the package, as `pyproject.toml` says it: where to look, and links that lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
_LINK = re.compile(r"\]\(([^)]+)\)")


def shown() -> str:
    """The page of an index: the README as the build rewrites it."""
    readme = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    page = "".join((ROOT / fragment["path"]).read_text("utf-8") for fragment in readme["fragments"])
    for change in readme["substitutions"]:
        page = re.sub(change["pattern"], change["replacement"], page)
    return page


def test_it_says_where_to_look() -> None:
    urls = SETTINGS["project"]["urls"]
    assert urls.keys() == {"Homepage", "Documentation", "Changelog", "Source", "Issues"}
    assert all(url.startswith(urls["Homepage"]) for url in urls.values())


def test_every_link_works_on_the_page_of_an_index() -> None:
    links = _LINK.findall(shown())
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_a_link_to_a_file_names_one_that_is_there() -> None:
    start = f"{SETTINGS['project']['urls']['Source']}/blob/main/"
    files = [link.removeprefix(start).partition("#")[0] for link in _LINK.findall(shown()) if link.startswith(start)]
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_archive_holds_what_builds_and_tests_it() -> None:
    held = SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "uv.lock", "mkdocs.yml", "src", "tests", "tools"} <= {
        *held
    }
    assert [name for name in held if not (ROOT / name).exists()] == []
