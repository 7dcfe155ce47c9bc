"""Answers as they were, to compare with: each case once, and where somebody answers otherwise, what is other there.

A file is a group of cases. A place is who was asked and in which era (`fastmcp/2026-07-28`), or the era alone; what an era
puts on every result is said once, under `stamps`. Under `except` stand the places whose answer differs, with the paths that
do and what is there; a path that is not there is `(absent)`, and a case that is not asked in a place is `(not asked)`.

`FAILWELL_SNAPSHOTS=write` writes them anew, one place at a time; a case that nobody asks any more is gone then.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

WRITE: Final = os.environ.get("FAILWELL_SNAPSHOTS") == "write"
ABSENT: Final = "(absent)"
NOT_ASKED: Final = "(not asked)"
WIDTH: Final = 160
_ON_RESULT: Final = "resultType"
_ON_META: Final = "io.modelcontextprotocol/serverInfo"

Answers = dict[str, Any]


class Snapshots:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, dict[str, Answers]] = {}

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
        if group not in self._read:
            self._read[group] = self._load(group)
        answers: Answers = json.loads(json.dumps(self._read[group][place]))
        return answers

    def text(self, group: str) -> str:
        return (self.folder / f"{group}.json").read_text(encoding="utf-8")

    def _load(self, group: str) -> dict[str, Answers]:
        """The answers in every place."""
        file = json.loads(self.text(group))
        found: dict[str, Answers] = {}
        for place in file["places"]:
            found[place] = {}
            for case, kept in file["cases"].items():
                other = next((each for names, each in kept.get("except", {}).items() if place in names.split(", ")), {})
                if other != NOT_ASKED:
                    found[place][case] = _changed(_stamped(kept["answer"], file["stamps"].get(_era(place))), other)
        return found

    def _write(self, group: str, place: str, answers: Answers) -> None:
        self.folder.mkdir(exist_ok=True)
        import fcntl

        # Tests for other places may run at the same time.
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self._load(group) if (self.folder / f"{group}.json").exists() else {}
            file = _folded(dict(sorted({**known, place: answers}.items())))
            (self.folder / f"{group}.json").write_text(_written(file) + "\n", encoding="utf-8")


def _era(place: str) -> str:
    return place.rpartition("/")[2]


def _stamp(answer: Any) -> str:
    """What its era has put on a result, as JSON."""
    result = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(result, dict):
        return "{}"
    stamp = {_ON_RESULT: result.get(_ON_RESULT), _ON_META: (result.get("_meta") or {}).get(_ON_META)}
    return json.dumps({name: value for name, value in stamp.items() if value is not None})


def _stamped(answer: Any, stamp: dict[str, Any] | None) -> Any:
    answer = json.loads(json.dumps(answer))
    if stamp and isinstance(answer, dict) and isinstance(answer.get("result"), dict):
        if _ON_RESULT in stamp:
            answer["result"][_ON_RESULT] = stamp[_ON_RESULT]
        if _ON_META in stamp:
            answer["result"].setdefault("_meta", {})[_ON_META] = stamp[_ON_META]
    return answer


def _unstamped(answer: Any, stamp: dict[str, Any]) -> Any:
    answer = json.loads(json.dumps(answer))
    if stamp and _stamp(answer) == json.dumps(stamp):
        answer["result"].pop(_ON_RESULT, None)
        meta = answer["result"].get("_meta", {})
        meta.pop(_ON_META, None)
        if not meta:
            answer["result"].pop("_meta", None)
    return answer


def _folded(places: dict[str, Answers]) -> dict[str, Any]:
    """The file: each case once, with what differs."""
    stamps: dict[str, Any] = {}
    for era in sorted({_era(place) for place in places}):
        answers = [each for place in places if _era(place) == era for each in places[place].values()]
        seen = Counter(_stamp(each) for each in answers if isinstance(each, dict) and "result" in each)
        usual = json.loads(seen.most_common(1)[0][0]) if seen else {}
        if usual:
            stamps[era] = usual
    cases: dict[str, Any] = {}
    for case in dict.fromkeys(case for answers in places.values() for case in answers):
        told = {
            place: json.dumps(_unstamped(answers[case], stamps.get(_era(place), {})))
            for place, answers in places.items()
            if case in answers
        }
        answer = json.loads(Counter(told.values()).most_common(1)[0][0])
        others: dict[str, list[str]] = {}
        for place, answers in places.items():
            if case not in answers:
                other: Any = NOT_ASKED
            else:
                expected = _stamped(answer, stamps.get(_era(place)))
                other = dict(_differences(expected, answers[case]))
                assert _changed(expected, other) == answers[case], (case, place)
            if other:
                others.setdefault(json.dumps(other), []).append(place)
        cases[case] = {"answer": answer}
        if others:
            cases[case]["except"] = {", ".join(names): json.loads(other) for other, names in others.items()}
    return {"places": list(places), "stamps": stamps, "cases": cases}


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
    """JSON in which what fits on a line is on one, and a line is filled. A case begins a line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + depth <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    if isinstance(value, list):
        parts = [_written(each, depth + 1) for each in value]
    else:
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_written(each, depth + 1)}" for key, each in value.items()]
    lines = [""]
    for part in parts:
        last = lines[-1]
        if last and (depth < 4 or "\n" in last + part or len(last) + len(part) + depth > WIDTH):
            lines.append(part)
        else:
            lines[-1] = f"{last}, {part}" if last else part
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return opening + inner + ("," + inner).join(lines) + outer + closing
