"""Answers as they were, to compare with: each case once, and where somebody answers otherwise, what is other there.

A file is a group of cases. A place is who was asked and in which era (`fastmcp/2026-07-28`), or the era alone. What is on
every answer is said once, under `all`, and what an era puts on every result under `stamps`. A case that differs little from
another is `like` it, `with` the paths that differ. Under `except` stand the places whose answer differs, in the same way; a
path that is not there is `(absent)`, and a case that is not asked in a place is `(not asked)`. In `content` a text stands for
its block, and a text that repeats the structured content is named by the way it is written (`WRITINGS`).

`FAILWELL_SNAPSHOTS=write` writes them anew, one place at a time; a case that nobody asks any more is gone then.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

WRITE: Final = os.environ.get("FAILWELL_SNAPSHOTS") == "write"
ABSENT: Final = "(absent)"
NOT_ASKED: Final = "(not asked)"
WIDTH: Final = 160
_ON_RESULT: Final = "resultType"
_ON_META: Final = "io.modelcontextprotocol/serverInfo"
_ON_ALL: Final = {"jsonrpc": "2.0"}
_as_json: Final = partial(json.dumps, ensure_ascii=False)
WRITINGS: Final[dict[str, Callable[[Any], str]]] = {
    "(structuredContent)": _as_json,
    "(structuredContent, compact)": partial(_as_json, separators=(",", ":")),
    "(structuredContent, indented)": partial(_as_json, indent=2),
}

Answers = dict[str, Any]


class Snapshots:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, dict[str, Any]] = {}

    def compare(self, group: str, answers: Mapping[str, Any], place: str = "everywhere") -> list[str]:
        """What differs from the snapshot, which is written instead when that is asked for."""
        if WRITE:
            self._write(group, place, dict(answers))
            return []
        known = self.read(group, place)
        problems = [f"{case}: in the snapshot, not asked" for case in known if case not in answers]
        for case, value in answers.items():
            if case not in known:
                problems.append(f"{case}: not in the snapshot: {json.dumps(value)}")
            elif known[case] != value:
                problems.append(f"{case}:\n    snapshot {json.dumps(known[case])}\n    now      {json.dumps(value)}")
        return problems

    def read(self, group: str, place: str = "everywhere") -> Answers:
        """The answers in one place, which the reader may change."""
        return _unfolded(self._file(group), place)

    def places(self, group: str) -> list[str]:
        places: list[str] = self._file(group)["places"]
        return places

    def differing(self, group: str, places: Collection[str] = ()) -> dict[str, list[str]]:
        """The cases that are not answered alike in these places, or in all, with those that answer as few others do."""
        file = self._file(group)
        told: dict[str, dict[str, str]] = {}
        for place in places or file["places"]:
            for case, answer in _unfolded(file, place).items():
                told.setdefault(case, {})[place] = _bare(answer, file["stamps"], place)
        return {
            case: others
            for case, answers in told.items()
            if (others := [place for place, answer in answers.items() if answer != _most(answers)])
        }

    def text(self, group: str) -> str:
        return (self.folder / f"{group}.json").read_text(encoding="utf-8")

    def _file(self, group: str) -> dict[str, Any]:
        if group not in self._files:
            self._files[group] = json.loads(self.text(group))
        return self._files[group]

    def _write(self, group: str, place: str, answers: Answers) -> None:
        self.folder.mkdir(exist_ok=True)
        import fcntl

        # Tests for other places may run at the same time.
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._files.pop(group, None)
            exists = (self.folder / f"{group}.json").exists()
            known = {each: self.read(group, each) for each in self.places(group)} if exists else {}
            file = _folded(dict(sorted({**known, place: answers}.items())))
            (self.folder / f"{group}.json").write_text(_written(file) + "\n", encoding="utf-8")
            self._files.pop(group, None)


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _era(place: str) -> str:
    return place.rpartition("/")[2]


def _usual(cases: Mapping[str, Any], case: str) -> Any:
    """What most places answer, short."""
    kept = cases[case]
    return _changed(_copied(_usual(cases, kept["like"])), kept["with"]) if "like" in kept else kept["answer"]


def _short(answer: Any, everywhere: Mapping[str, Any], *, naming: bool = True) -> Any:
    """An answer without what every answer has, and with its texts as `_whole` reads them."""
    answer = _copied(answer)
    if everywhere:
        answer = {name: value for name, value in answer.items() if name not in everywhere}
    if (result := _result(answer)) is not None:
        structured = result.get("structuredContent") if naming else None
        ways = {write(structured): name for name, write in reversed(WRITINGS.items())} if structured else {}
        result["content"] = [
            ways.get(block["text"], block["text"]) if _is_plain(block) else block for block in result["content"]
        ]
    return answer


def _whole(answer: Any, everywhere: Mapping[str, Any]) -> Any:
    answer = {**everywhere, **_copied(answer)} if everywhere else _copied(answer)
    if (result := _result(answer)) is not None:
        structured = result.get("structuredContent")
        result["content"] = [
            {"type": "text", "text": WRITINGS[block](structured) if block in WRITINGS else block}
            if isinstance(block, str)
            else block
            for block in result["content"]
        ]
    return answer


def _result(answer: Any) -> dict[str, Any] | None:
    """The part with the content, if there is one."""
    result = answer.get("result") if isinstance(answer, dict) else None
    return result if isinstance(result, dict) and isinstance(result.get("content"), list) else None


def _is_plain(block: Any) -> bool:
    return isinstance(block, dict) and set(block) == {"type", "text"} and block["type"] == "text"


def _stamp(answer: Any) -> str:
    """What its era has put on a result, as JSON."""
    result = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(result, dict):
        return "{}"
    stamp = {_ON_RESULT: result.get(_ON_RESULT), _ON_META: (result.get("_meta") or {}).get(_ON_META)}
    return json.dumps({name: value for name, value in stamp.items() if value is not None})


def _stamped(answer: Any, stamp: dict[str, Any] | None) -> Any:
    answer = _copied(answer)
    if stamp and isinstance(answer, dict) and isinstance(answer.get("result"), dict):
        if _ON_RESULT in stamp:
            answer["result"][_ON_RESULT] = stamp[_ON_RESULT]
        if _ON_META in stamp:
            answer["result"].setdefault("_meta", {})[_ON_META] = stamp[_ON_META]
    return answer


def _unstamped(answer: Any, stamp: dict[str, Any]) -> Any:
    answer = _copied(answer)
    if stamp and _stamp(answer) == json.dumps(stamp):
        answer["result"].pop(_ON_RESULT, None)
        meta = answer["result"].get("_meta", {})
        meta.pop(_ON_META, None)
        if not meta:
            answer["result"].pop("_meta", None)
    return answer


def _bare(answer: Any, stamps: Mapping[str, Any], place: str) -> str:
    """An answer as JSON, to compare with those of other places and eras."""
    return _as_json(_unstamped(answer, stamps.get(_era(place), {})), sort_keys=True)


def _most(answers: Mapping[str, str]) -> str:
    return Counter(answers.values()).most_common(1)[0][0]


def _unfolded(file: Mapping[str, Any], place: str) -> Answers:
    """The answers of a file in one place."""
    if place not in file["places"]:
        raise KeyError(place)
    found: Answers = {}
    for case, kept in file["cases"].items():
        other = next((each for names, each in kept.get("except", {}).items() if place in names.split(", ")), {})
        if other != NOT_ASKED:
            stamped = _stamped(_usual(file["cases"], case), file["stamps"].get(_era(place)))
            found[case] = _whole(_changed(stamped, other), file["all"])
    return found


def _folded(places: dict[str, Answers]) -> dict[str, Any]:
    """The file: each case once, with what differs."""
    every = [answer for answers in places.values() for answer in answers.values()]
    alike = every and all(isinstance(answer, dict) and _ON_ALL.items() <= answer.items() for answer in every)
    everywhere = _ON_ALL if alike else {}
    stamps: dict[str, Any] = {}
    for era in sorted({_era(place) for place in places}):
        answers = [each for place in places if _era(place) == era for each in places[place].values()]
        seen = Counter(_stamp(each) for each in answers if isinstance(each, dict) and "result" in each)
        usual = json.loads(seen.most_common(1)[0][0]) if seen else {}
        if usual:
            stamps[era] = usual
    cases: dict[str, Any] = {}
    for case in dict.fromkeys(case for answers in places.values() for case in answers):
        told = {place: answers[case] for place, answers in places.items() if case in answers}
        bare = {place: _bare(answer, stamps, place) for place, answer in told.items()}
        first = next(place for place in bare if bare[place] == _most(bare))
        answer = _unstamped(_short(told[first], everywhere), stamps.get(_era(first), {}))
        others: dict[str, list[str]] = {}
        for place in places:
            expected = _stamped(answer, stamps.get(_era(place)))
            other = _turned(expected, told[place], everywhere) if place in told else NOT_ASKED
            if other:
                others.setdefault(json.dumps(other), []).append(place)
        cases[case] = _alike(answer, cases)
        if others:
            cases[case]["except"] = {", ".join(names): json.loads(other) for other, names in others.items()}
    file = {"places": list(places), "stamps": stamps, "all": everywhere, "cases": cases}
    for place, answers in places.items():
        assert _unfolded(file, place) == answers, place
    return file


def _turned(short: Any, answer: Any, everywhere: Mapping[str, Any]) -> dict[str, Any]:
    """What turns a short answer into another, whole one."""
    other = dict(_differences(short, _short(answer, everywhere)))
    if _whole(_changed(_copied(short), other), everywhere) != answer:
        # Its structured content is written in another order.
        other = dict(_differences(short, _short(answer, everywhere, naming=False)))
    return other


def _alike(answer: Any, cases: Mapping[str, Any]) -> dict[str, Any]:
    """An answer, or the case before it that it is like, if what differs is a third of it at most."""
    room = len(_as_json(answer)) / 3
    best: dict[str, Any] = {"answer": answer}
    for case, kept in cases.items():
        if "answer" in kept and isinstance(answer, dict) and isinstance(kept["answer"], dict):
            found = _turned(kept["answer"], _whole(answer, {}), {})
            size = len(_as_json(found)) + len(case)
            if size < room:
                best, room = {"like": case, "with": found}, size
    return best


def _differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            inner = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in other:
                yield inner, ABSENT
            elif key not in one:
                yield inner, other[key]
            else:
                yield from _differences(one[key], other[key], inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{path}/{number}")
    elif json.dumps(one) != json.dumps(other):
        yield path, other


def _changed(answer: Any, differences: Mapping[str, Any]) -> Any:
    whole = {"": answer}
    for path, value in differences.items():
        holder: Any = whole
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
        for part in way:
            holder = holder[int(part) if isinstance(holder, list) else part]
        key: Any = int(last) if isinstance(holder, list) else last
        if value == ABSENT:
            del holder[key]
        else:
            holder[key] = value
    return whole[""]


def _written(value: Any, depth: int = 0) -> str:
    """JSON in which lines are filled and brackets close where the last line ends. A case begins a line."""
    line = _as_json(value)
    if len(line) + depth <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inner = "\n" + " " * (depth + 1)
    if isinstance(value, list):
        parts = [_written(each, depth + 1) for each in value]
    else:
        parts = [f"{_as_json(key)}: {_written(each, depth + 1)}" for key, each in value.items()]
    lines = [""]
    for part in parts:
        last = lines[-1]
        if last and (depth < 2 or "\n" in last + part or len(last) + len(part) + depth > WIDTH):
            lines.append(part)
        else:
            lines[-1] = f"{last}, {part}" if last else part
    opening, closing = "[]" if isinstance(value, list) else "{}"
    # What has one part alone is opened on its line.
    start = "" if len(parts) == 1 and depth > 1 else inner
    return opening + start + ("," + inner).join(lines) + closing
