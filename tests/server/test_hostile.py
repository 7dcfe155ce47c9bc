"""Arguments and exceptions made to do harm: every server answers as it should, and goes on.

What the transport itself cannot read is dropped by the SDK without an answer, on every server and with or without
Failwell: nesting beyond what its parser allows, half a surrogate pair, and integers of thousands of digits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import pytest
from cases import SUCCESS
from wire import ERAS, SERVERS, Answer, NoAnswer, Nursery, Stdio, Wanted, connected

from failwell.formats import META_KEY

BIG: Final = "x" * 4_000_000
LONGEST_ANSWER: Final = 20_000


def given(count: str, more: str = "") -> str:
    """The arguments of `convert`."""
    return '{"count": ' + count + more + "}"


def items(some: str) -> str:
    """The arguments of `order`."""
    return '{"items": [' + some + '], "customer_id": "c_1"}'


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + "1" + closing * depth


@dataclass(frozen=True)
class Hostile:
    """A call whose arguments are JSON text, sent as it is. No `code` means that it works; `dropped`, no JSON for the transport."""

    tool: str
    arguments: str = "{}"
    code: str | None = None
    dropped: bool = False


BAD: Final = "VALIDATION_ERROR"
BROKEN: Final = "INTERNAL_ERROR"

CASES: Final[dict[str, Hostile]] = {
    # What is sent.
    "4 MB": Hostile("anything", '{"value": "' + BIG + '"}'),
    "4 MB of a wrong type": Hostile("convert", given(f'"{BIG}"'), BAD),
    "4 MB as the name of an argument": Hostile("convert", given("1", f', "{BIG}": 1'), BAD),
    "4 MB as the name of the tool": Hostile(BIG, code="UNKNOWN_TOOL"),
    "100,000 unknown arguments": Hostile(
        "convert", given("1", "".join(f', "k{number}": 1' for number in range(100_000))), BAD
    ),
    "5,000 wrong items": Hostile("order", items(", ".join(['{"sku": 5, "quantity": 0}'] * 5_000)), BAD),
    "depth 100": Hostile("convert", given(nested(100)), BAD),
    "depth 150 of objects": Hostile("convert", given(nested(150, '{"a": ', "}")), BAD),
    "depth 10,000": Hostile("convert", given(nested(10_000)), dropped=True),
    "NaN": Hostile("convert", given("NaN"), BAD),
    "NaN where anything goes": Hostile("anything", '{"value": NaN}'),
    "infinity": Hostile("order", items('{"sku": -Infinity, "quantity": Infinity}'), BAD),
    "a number beyond all": Hostile("convert", given("1e999"), BAD),
    "half a surrogate pair": Hostile("convert", given(r'"\ud800"'), dropped=True),
    "half a surrogate pair as a name": Hostile("convert", given("1", r', "\ud800": 1'), dropped=True),
    "an integer of 5,000 digits": Hostile("convert", given("9" * 5_000), dropped=True),
    "an integer of 4,000 digits": Hostile("convert", given('"a"', ', "note": ' + "9" * 4_000), BAD),
    "control characters in a name": Hostile("convert", given("1", r', "a\u0000\u001b[31m\u202eb": 1'), BAD),
    "names of attributes": Hostile("convert", given("1", ', "__proto__": 1, "__class__": 2, "self": 3'), BAD),
    "a name twice": Hostile("convert", given('"x"', ', "count": 1')),
    # What is raised.
    "no text": Hostile("unsayable", code=BROKEN),
    "a text without end": Hostile("endless", code=BROKEN),
    "a text without end in a group": Hostile("endless_group", code=BROKEN),
    "a text without end in middleware": Hostile("limited_endless", code=BROKEN),
    "a cycle of causes": Hostile("cycle", code=BROKEN),
    "its own cause": Hostile("own_cycle", code=BROKEN),
    "5,000 causes": Hostile("deep_chain", code=BROKEN),
    "300 groups": Hostile("deep_group", code=BAD),
    "a mapping that raises": Hostile("misread", code=BROKEN),
    "a text of 10 MB": Hostile("long_text", code=BAD),
    "a text of odd characters": Hostile("odd_text", code=BAD),
    "an endless recursion": Hostile("recursion", code=BROKEN),
}


def reply(client: Stdio, name: str, case: Hostile) -> Answer | None:
    """The answer, or None if there is none before that to the next request."""
    frame = json.dumps(client.request("tools/call", {"name": "TOOL", "arguments": "ARGUMENTS"}, name))
    text = frame.replace('"ARGUMENTS"', case.arguments).replace("TOOL", case.tool)
    if not case.dropped:
        return client.exchange(text, name)
    client.passed.clear()
    client.send(text)
    assert works(client)
    answers = [each for each in client.passed if each.get("id") in (name, None) and "method" not in each]
    return Answer(str(answers), answers[0]) if answers else None


def works(client: Stdio) -> bool:
    answer = client.ask(SUCCESS.method, SUCCESS.params, id="next")
    return answer.value["result"]["content"] == [{"type": "text", "text": "hi"}]


def judge(answer: Answer | None, case: Hostile) -> str | None:
    """What is wrong with the answer."""
    if answer is None or case.dropped:
        code = None if answer is None else answer.value.get("error", {}).get("code")
        return None if case.dropped and code == -32700 else f"answered with {answer}"
    if len(answer.raw) > LONGEST_ANSWER:
        return f"{len(answer.raw)} characters long"
    if "result" not in answer.value:
        return answer.raw
    result = answer.value["result"]
    if case.code is None:
        return answer.raw if result.get("isError") else None
    well_formed = result["isError"] is True and len(result["content"]) == 1 and result["content"][0]["text"].strip()
    code = result.get("_meta", {}).get(META_KEY, {}).get("code")
    return None if well_formed and code == case.code else answer.raw[:1_000]


@pytest.mark.checklist(154)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_hostile_calls(nursery: Nursery, server: str, era: str) -> None:
    problems: list[str] = []
    with connected(nursery, Wanted(server, "stdio", era, options={"validate": "reject"}), fresh=True) as [client]:
        assert isinstance(client, Stdio)
        for name, case in CASES.items():
            try:
                wrong = judge(reply(client, name, case), case)
                if wrong is not None:
                    problems.append(f"{name}: {wrong}")
                if not works(client):
                    problems.append(f"{name}: the next call fails")
            except NoAnswer as exc:
                problems.append(f"{name}: {exc}")
                break
    assert not problems, "\n".join(problems)
