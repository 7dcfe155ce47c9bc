"""What is checked: a command, started in an empty home with hardly any environment, or an address."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from failwell.model import pattern
from failwell.redact import DEFAULT
from failwell.relay import own_secrets

from .http_wire import HttpTransport
from .transport import StdioTransport, Transport

# What programs need to start at all. Nothing of it is anybody's secret.
_NEEDED: Final = (
    "PATH LANG LC_ALL LC_CTYPE TZ SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT WINDIR PROGRAMFILES PROGRAMDATA "
    "LD_LIBRARY_PATH DYLD_LIBRARY_PATH VIRTUAL_ENV SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS"
).split()


@dataclass(frozen=True, slots=True)
class CheckTarget:
    """A server to check: a command or an address."""

    command: Sequence[str] = ()
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that the server is given beside what programs need to start."""
    cwd: str | None = None
    """Where it works; a temporary folder if nobody says."""

    @property
    def secrets(self) -> own_secrets.OwnSecrets:
        """What it is given as a secret."""
        return own_secrets.OwnSecrets.of(self.env, headers=self.headers, command=self.command, url=self.url)

    @property
    def name(self) -> str:
        """What is checked, as it may be shown."""
        named = self.url if self.url is not None else shlex.join(self.command)
        return self.secrets.text(DEFAULT.redact(named))

    def arguments(self) -> str:
        """What follows `failwell check` to check the same again, without what is secret."""
        given = [f"--env {shlex.quote(name)}" for name in self.env]
        if self.cwd is not None:
            given.append(f"--cwd {shlex.quote(self.cwd)}")
        given += [f"--header {shlex.quote(f'{name}: …')}" for name in self.headers]
        where = shlex.quote(self.name) if self.url is not None else f"-- {self.name}"
        return " ".join([*given, where])

    @contextmanager
    def transport(self, warden: Any = None, more: Mapping[str, str] | None = None) -> Iterator[Transport]:
        """The way to it. The temporary folders of a command live as long."""
        if self.url is not None:
            yield HttpTransport(self.url, self.headers)
            return
        with tempfile.TemporaryDirectory(prefix="failwell-check-", ignore_cleanup_errors=True) as folder:
            home, work = Path(folder, "home"), Path(folder, "work")
            home.mkdir()
            work.mkdir()
            env = scrubbed(home) | dict(self.env) | dict(more or {})
            transport = StdioTransport(absolute(self.command), env, self.cwd or str(work), warden)
            try:
                yield transport
            finally:
                transport.close()


def scrubbed(home: Path) -> dict[str, str]:
    """The environment of a checked server: enough to start, and nothing of whoever runs this."""
    kept = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    places = {"HOME": home, "USERPROFILE": home, "TMPDIR": home, "TEMP": home, "TMP": home}
    places |= {"XDG_CONFIG_HOME": home / ".config", "XDG_DATA_HOME": home / ".local", "XDG_CACHE_HOME": home / ".cache"}
    return (
        kept | {name: str(place) for name, place in places.items()} | {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    )


def absolute(command: Sequence[str]) -> list[str]:
    """A command that can be run from another folder: files of this one by their full names."""
    here = Path.cwd()
    named = [_absolute(part, here) if index or os.sep in part else part for index, part in enumerate(command)]
    if named and named[0] in ("python", "python3") and shutil.which(named[0]) is None:
        named[0] = sys.executable
    return named


def _absolute(part: str, here: Path) -> str:
    option, equals, value = part.partition("=")
    if equals and option.startswith("--"):
        return f"{option}={_absolute(value, here)}"
    if not part or part.startswith("-") or os.path.isabs(part):
        return part
    # A bare word is a file only if it looks like one: `run`, `stdio` and `serve` may be folders here by chance.
    looks = os.sep in part or part in (".", "..") or Path(part).suffix != ""
    return str(here / part) if looks and (here / part).exists() else part


def language_of_command(command: Sequence[str]) -> str | None:
    """The language that a command tells: that of its program, or of a file that it runs."""
    for part in command[:4]:
        name = Path(part).name.lower()
        for language, programs, suffixes in _LANGUAGES:
            if name.rstrip("0123456789.") in programs or Path(name).suffix in suffixes:
                return language
    return None


def language_of_text(text: str) -> str | None:
    """The language whose validators write so."""
    return next((language for language, form in _VALIDATORS if form.search(text)), None)


_LANGUAGES: Final = (
    ("Python", ("python", "uv", "uvx", "pipx", "poetry"), (".py",)),
    ("TypeScript", ("node", "npx", "npm", "bun", "bunx", "deno", "tsx"), (".js", ".mjs", ".cjs", ".ts")),
    ("Go", ("go",), (".go",)),
    ("Rust", ("cargo",), (".rs",)),
    ("C#", ("dotnet",), (".dll", ".cs")),
)
_VALIDATORS: Final = (
    ("Python", pattern(r"\[type=\w+, input_value=|errors\.pydantic\.dev")),
    (
        "TypeScript",
        pattern(r"expected \w+, received \w+|\"code\":\s*\"(?:invalid_type|invalid_value|unrecognized_keys)"),
    ),
    ("Go", pattern(r"json: cannot unmarshal|Go struct field")),
    ("Rust", pattern(r"missing field `|invalid type: \w+ `")),
    ("C#", pattern(r"System\.\w+Exception")),
)
