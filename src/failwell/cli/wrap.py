"""`failwell wrap`: any stdio server, made to fail well, without a change to it."""

from __future__ import annotations

import os
import re
from argparse import PARSER, Action, ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from typing import Any

from failwell.relay import HOLD, Listening, RelayOptions, Wrapping, log_as_json, wrap

from .events import open_events
from .io import Commands, Stop, check_format, in_line, stop_on
from .targets import header_of, host_of

_EPILOG = """\
examples:
  failwell wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  failwell wrap https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
"""


class _Words(Action):
    """From the first word on that is not an option, all words are the server's command; after an address or a name in
    a file the options are still ours."""

    def __call__(
        self, parser: ArgumentParser, options: Namespace, words: Any, option_string: str | None = None
    ) -> None:
        if options.name:
            raise Stop(f"{words[0]} is one word too many")
        options.name = words
        if "://" in words[0] or options.config is not None:
            options.name = words[:1]
            parser.parse_args(words[1:], options)


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "wrap",
        help="stand in front of any server, so that it fails well and stays up",
        usage="failwell wrap [options] -- CMD...\n       failwell wrap [options] URL\n"
        "       failwell wrap [options] --config FILE [NAME]",
        description="Passes messages between a client and a server, and makes failures something an agent can act on.",
        epilog=_EPILOG,
    )
    add, many = parser.add_argument, {"action": "append", "default": []}
    where = "where the server is, or its command; with --config its name in the file"
    add("name", nargs=PARSER, action=_Words, default=[], metavar="URL", help=where).required = False
    add("--header", **many, metavar="H", help="for a URL: 'Name: ${VARIABLE}'")
    add("--config", metavar="FILE", help="take the server from a client's file, such as .mcp.json")
    add("--listen", metavar="HOST:PORT", help="take clients over streamable HTTP, not on stdio")
    add("--token", **many, metavar="T", help="ask for it; or FAILWELL_TOKEN")
    add("--allow-host", **many, metavar="NAME", help="a name of this server")
    add("--allow-origin", **many, metavar="URL", help="a page that may ask")
    add("--format", metavar="NAME", help="the form of a failure; text by default")
    add("--validate", choices=("auto", "on", "off"), default="auto", help="check arguments against the tool's schema")
    add("--reads", **many, metavar="NAME", help="a tool that only reads: 'get_*'")
    add("--writes", **many, metavar="NAME", help="a tool that changes something")
    add("--unmarked", choices=("as is", "write"), default="as is", help="what an unknown tool counts as")
    add("--hold", type=_hold, default=HOLD, metavar="TIME", help="how long a write in doubt is not run again; 0: never")
    add("--trust-annotations", choices=("yes", "no"), help="believe what tools say of themselves; yes for a command")
    add("--timeout", type=_seconds, metavar="TIME", help="the longest silence of a call: 90, 90s, 5m")
    add("--rules", metavar="FILE", help="what you know of this server's failures, in TOML")
    add("--state", metavar="FILE|URL", help="keep idempotency keys there, not in memory; or redis://…, postgresql://…")
    add("--events", metavar="STORE", help="write each call into a store, such as sqlite:///events.db")
    add("--no-messages", action="store_true", help="keep no words of failures in the store of events")
    add("--log", choices=("text", "json"), default="text", help="how the log on stderr is written")
    add("--verbose", action="store_true", help="say on stderr what is done")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    # What would be of no effect is refused: whoever gave it believes in one.
    for name in ("token", "allow_host", "allow_origin") if options.listen is None else ():
        if getattr(options, name):
            raise Stop(f"--{name.replace('_', '-')} is for --listen HOST:PORT, which is not there")
    if options.header and (options.after or len(options.name) > 1):
        raise Stop("--header is for a server behind an address, and not for a command")
    for option, given in (("--reads", options.reads), ("--writes", options.writes)):
        if not all(name for names in given for name in names.split(",")):
            raise Stop(f"{option} names no tool: write {option} 'get_*'")
    if options.log == "json":
        log_as_json()
    wrapping = replace(_wrapping(options), log=options.log)
    try:
        if options.listen is None:
            return wrap(wrapping)
        from failwell.packages import MissingPackage
        from failwell.relay import CannotListen

        with stop_on(CannotListen, MissingPackage):
            return wrap(replace(wrapping, listening=_listening(options, wrapping.options.rules)))
    finally:
        if wrapping.options.events is not None:
            wrapping.options.events.close()


def _wrapping(options: Namespace) -> Wrapping:
    name = options.name[0] if options.name else None
    is_url = options.config is None and name is not None and "://" in name
    wrapped = _options(options, remote=is_url)
    if options.config is not None:
        if options.after:
            raise Stop("name either a command after -- or --config, not both")
        from failwell.relay import config

        with stop_on(config.NoServer):
            entry = config.chosen(options.config, name)
            if not entry.is_stdio:
                return _remote(*config.address(entry, os.environ), options)
            if options.header:
                raise Stop(f"--header is for a server behind an address, and {entry.name} is a command")
            found = config.server(options.config, name, os.environ)
        return Wrapping(found.command, found.env, found.cwd, wrapped, options.verbose)
    if name is not None and is_url:
        if options.after:
            raise Stop("name either a command after -- or a URL, not both")
        return _remote(name, {}, options)
    # Behind a word of the command `--` is one of its own.
    command = [*options.name, "--", *options.after] if options.name and options.after else options.name or options.after
    if not command:
        raise Stop("name the command of a server after --, or its URL, as in: failwell wrap -- npx -y some-server")
    if not command[0].strip():
        raise Stop("the command after -- is empty; name one, as in: failwell wrap -- npx -y some-server")
    return Wrapping(command, options=wrapped, loud=options.verbose)


def _remote(url: str, headers: dict[str, str], options: Namespace) -> Wrapping:
    """A server behind an address."""
    host_of(url)
    given = {**headers, **dict(map(header_of, options.header))}
    return Wrapping(options=_options(options, remote=True), loud=options.verbose, url=url, headers=given)


def _listening(options: Namespace, rules: Any) -> Listening:
    host, colon, port = options.listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise Stop(f"--listen {options.listen}: it is written as HOST:PORT, such as 127.0.0.1:8000")
    tokens = [*options.token, *filter(None, [os.environ.get("FAILWELL_TOKEN")])]
    for token in tokens:
        if not re.fullmatch(r"[\x21-\x7e]{8,}", token):
            raise Stop("a token has eight characters or more, all of them visible ASCII, and no line end")
    return Listening(
        host.strip("[]") or "127.0.0.1",
        int(port),
        tokens=tokens,
        hosts=options.allow_host,
        origins=options.allow_origin,
        reload=lambda: _reload(rules, options.rules),
    )


def _reload(held: Any, path: str | None) -> str | None:
    """Read the rules anew, in the place of those that are in use; what is wrong with them is said, and they stay."""
    if path is None:
        return None
    from failwell.relay import rules

    try:
        held.rules[:] = rules.load(path).rules
    except rules.BadRules as problem:
        return f"the rules stay as they were: {in_line(str(problem))}"
    return f"the rules of {path} are in use"


def _options(given: Namespace, *, remote: bool = False) -> RelayOptions:
    from failwell.idempotency import StoreUnusable, open_store
    from failwell.relay import log_call, rules

    with stop_on(StoreUnusable, ImportError, rules.BadRules):
        keys = open_store(given.state, namespace="relay", cached=True)
        known = None if given.rules is None else rules.load(given.rules)
    reads, writes = (tuple(",".join(names).split(",")) if names else () for names in (given.reads, given.writes))
    return RelayOptions(
        format=check_format(given.format) or "text",
        validate=given.validate,
        reads=reads,
        writes=writes,
        unmarked=given.unmarked,
        hold=given.hold,
        # Whoever starts a server has chosen it; what a stranger says of its tools proves nothing.
        trusted=given.trust_annotations == "yes" or (given.trust_annotations is None and not remote),
        timeout=given.timeout,
        rules=known,
        keys=keys,
        hooks=(log_call,) if given.log == "json" else (),
        events=None if given.events is None else open_events(given.events, given.no_messages),
    )


def _seconds(text: str) -> float:
    """A time as people write it."""
    from failwell.relay import rules

    try:
        return rules.seconds(text) or 0.0
    except rules.BadRules as problem:
        raise ArgumentTypeError(str(problem)) from None


def _hold(text: str) -> float:
    return 0.0 if text == "0" else _seconds(text)
