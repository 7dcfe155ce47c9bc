"""Every failure of every server, over both transports and in both eras, as it is on the wire.

The snapshots hold whole answers, without their ids. `FAILWELL_SNAPSHOTS=write` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import ALL, LISTINGS, VARIANTS, Case, Variant, applicable
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from wire import ERAS, MODERN, SERVERS, TRANSPORTS, Answer, Client, NoAnswer, Nursery, Wanted, connected

import failwell as fw
from failwell.formats import FORMATS, META_KEY
from snapshots import Snapshots

SNAPSHOTS = Snapshots(Path(__file__).with_name("snapshots"))
compare = SNAPSHOTS.compare


def asked(client: Client, cases: list[Case]) -> dict[str, Answer]:
    """The answers by case. Who gives none to one is not asked again."""
    answers: dict[str, Answer] = {}
    for case in cases:
        try:
            answers[case.id] = client.ask(case.method, case.params, id=case.id)
        except NoAnswer as exc:
            answers[case.id] = Answer(str(exc), {"no answer": str(exc)})
            break
    return answers


def misread(cases: list[Case], values: dict[str, Any], *, shows_text: bool) -> list[str]:
    """The failures that do not have the code or say the effect they must, and crashes that do not name their tool where
    the framework does not show what was raised."""
    problems = []
    for case in cases:
        value = values.get(case.id, {})
        result = value.get("result", {})
        about = result.get("_meta") or value.get("error", {}).get("data")
        said = about if isinstance(about, dict) else {}
        told = said.get(META_KEY, {})
        code = told.get("code") or said.get("mcp_error_code")
        if case.effect not in (None, told.get("effect")):
            problems.append(f"{case.id}: the effect is {told.get('effect')}, not {case.effect}: {value}")
        if case.code not in (None, code):
            problems.append(f"{case.id}: the code is {code}, not {case.code}")
        if code == "INTERNAL_ERROR" and result and case.params is not None and not shows_text:
            text = result["content"][0]["text"]
            name = case.params["name"]
            if not text.startswith((f"[{name}] ", f"{name} failed part-way", f"{name} was done")):
                problems.append(f"{case.id}: does not name the tool: {text}")
    return problems


def same(what: str, cases: list[Case], one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [
        f"{case.id}: {what}\n    {one.get(case.id)}\n    {other.get(case.id)}"
        for case in cases
        if one.get(case.id) != other.get(case.id)
    ]


def raw(answers: dict[str, Answer]) -> dict[str, str]:
    return {case: answer.raw for case, answer in answers.items()}


def advertises_no_more_than_the_extension(ours: dict[str, Any], bare: dict[str, Any]) -> bool:
    """Whether the greeting is the bare server's, and says which formats there are: in both places on the older era."""
    ours = json.loads(json.dumps(ours))
    capabilities = ours["result"]["capabilities"]
    said = [capabilities.get(place, {}).pop(META_KEY, None) for place in ("extensions", "experimental")]
    for place in ("extensions", "experimental"):
        if capabilities.get(place) == {} and place not in bare["result"]["capabilities"]:
            del capabilities[place]
    expected = {"version": "1", "formats": list(FORMATS), "default": "text"}
    return said in ([expected, expected], [expected, None]) and ours == bare


@pytest.mark.checklist(49, 50, 150, 160, 163, 226, 227)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_every_case_on_the_wire(nursery: Nursery, server: str, era: str) -> None:
    cases = applicable(ALL, server, era)
    untouched = [case for case in cases if server in case.untouched]
    problems: list[str] = []
    wanted = [Wanted(server, transport, era, bare) for transport in TRANSPORTS for bare in (False, True)]
    with connected(nursery, *wanted) as (stdio, bare_stdio, http, bare_http):
        over_stdio, over_http = asked(stdio, cases), asked(http, cases)
        problems += same("differs from the bare server", untouched, raw(over_stdio), raw(asked(bare_stdio, untouched)))
        problems += same("differs from the bare server", untouched, raw(over_http), raw(asked(bare_http, untouched)))
        for one, other in ((stdio, bare_stdio), (http, bare_http)):
            if not advertises_no_more_than_the_extension(one.opening.value, other.opening.value):
                problems.append(f"The greeting differs:\n    {one.opening.raw}\n    {other.opening.raw}")
    values = {case: answer.value for case, answer in over_stdio.items()}
    problems += [
        f"{case.id}: HTTP differs from stdio:\n    {values.get(case.id)}\n    {over_http[case.id].value}"
        for case in cases
        if case.id in over_http and over_http[case.id].value != values.get(case.id)
    ]
    for case, answer in over_http.items():
        code = answer.value.get("error", {}).get("code")
        expected = ERROR_CODE_HTTP_STATUS.get(code, 200) if era == MODERN else 200
        if answer.status != expected:
            problems.append(f"{case}: HTTP status {answer.status}, not {expected}")
    problems += misread(cases, values, shows_text=server == "fastmcp")
    problems += [f"{case}: tells a secret" for case, answer in over_stdio.items() if "hunter2" in answer.raw]
    kept = {case: value for case, value in values.items() if case not in LISTINGS}
    problems += compare("matrix", kept, f"{server}/{era}")
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(109, 160, 163, 226)
@pytest.mark.parametrize("variant", [pytest.param(each, id=each.id) for each in VARIANTS])
def test_options_on_the_wire(nursery: Nursery, variant: Variant) -> None:
    problems: list[str] = []
    combinations = [(server, era) for server in variant.servers for era in ERAS]
    wanted = [Wanted(server, variant.transport, era, options=variant.options) for server, era in combinations]
    with connected(nursery, *wanted) as clients:
        for (server, era), client in zip(combinations, clients, strict=True):
            chosen = [case for case in applicable(ALL, server, era) if case.id in variant.cases]
            answers = {case: answer.value for case, answer in asked(client, chosen).items()}
            problems += compare(f"options-{variant.id}", answers, f"{server}/{era}")
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(49, 291)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_what_is_sent_can_be_read(server: str, era: str) -> None:
    for case, value in SNAPSHOTS.read("matrix", f"{server}/{era}").items():
        about = value.get("result", {}).get("_meta", {}).get(META_KEY)
        if about is not None:
            read = fw.parse(value["result"])
            assert read is not None, case
            # Where it was read, and what contradicts, are the reader's own remarks.
            told = {name: part for name, part in read.to_dict().items() if name not in ("origin", "format", "notes")}
            if told.get("standing") == "stated":
                del told["standing"]
            assert told == about, case


@pytest.mark.checklist(109, 291)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("format", ["typed", "v1", "xml", "envelope", "jsonrpc", "problem", "canonical"])
def test_what_is_sent_in_a_format_can_be_read_without_meta(format: str, era: str) -> None:
    for case, value in SNAPSHOTS.read(f"options-format-{format}", f"mcpserver/{era}").items():
        result = value["result"]
        if META_KEY not in result.get("_meta", {}):
            continue
        told = {name: part for name, part in result.items() if name != "_meta"}
        read = fw.parse(told)
        assert read is not None, case
        # With an output schema there is no structured content, so these formats have only their text.
        prose = "output schema" in case and format in ("v1", "problem", "canonical")
        assert read.format == ("text" if prose else format), case
