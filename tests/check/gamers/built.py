"""A small library of books that fails in one way: python built.py WAY. It validates by hand, and uses no SDK.

`level-0` to `level-6` are the ladder of the rubric; `mediocre` is an honest server of the middle; the phrasings say the
same in other words; all others are built to please a checker.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from typing import Any, Final

WAY: Final = sys.argv[1]
Json = dict[str, Any]
ID: Final[Json] = {"type": "string", "pattern": "^bk_[0-9]{1,6}$", "examples": ["bk_1"]}
TOOLS: Final[dict[str, Json]] = {
    "find_books": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                   "kind": {"type": "string", "enum": ["novel", "poem", "essay"]}},
    "get_book": {"book_id": ID, "detail": {"type": "string", "enum": ["short", "full", "raw"]}},
    "delete_book": {"book_id": ID, "reason": {"type": "string", "minLength": 3}},
}  # fmt: skip
NEEDS: Final = {"find_books": ["query"], "get_book": ["book_id"], "delete_book": ["book_id", "reason"]}
READS: Final = ("find_books", "get_book")
TYPES: Final = {"string": str, "integer": int}
COUNT: Final = itertools.count()
GOOD: Final = {"query": "x", "limit": 100, "kind": "novel", "book_id": "bk_1", "detail": "short", "reason": "<why>"}
# What is accepted, the missing one, the unknown one, the thing that is not there, the tool that is not there.
PHRASES: Final = {
    "level-6": ("{name} must be {allowed}.", "{name} is missing; it must be {allowed}.", "There is no argument {name}."),
    "terse": ("{name}: {allowed}", "{name} required: {allowed}", "{name} unknown"),
    "polite": ("Please send {allowed} as {name}.", "Please add {name}, as {allowed}.", "Please leave out {name}."),
    "blunt": ("Wrong {name}. Only {allowed} will do.", "You forgot {name} ({allowed}).", "Nobody knows {name}."),
    "question": ("Could {name} be {allowed}?", "Where is {name}? We take {allowed}.", "What is {name}?"),
    "passive": ("{allowed} was expected for {name}.", "{name} was not given ({allowed}).", "{name} was not expected."),
    "coded": ("E17 {name} -> {allowed}", "E18 {name} -> {allowed}", "E19 {name}"),
    "long": ("We looked at {name}, and it is none of {allowed}, which is all that we take.",
             "We looked for {name}, of which we take {allowed}, and it was not there.", "We have no use for {name}."),
    "german": ("{name} muss {allowed} sein.", "{name} fehlt; erlaubt ist {allowed}.", "Ein Argument {name} gibt es nicht."),
    "french": ("{name} doit valoir {allowed}.", "Il manque {name} ({allowed}).", "{name} n'existe pas."),
    "japanese": ("{name} は {allowed} です。", "{name} がありません ({allowed})。", "{name} はありません。"),
    "json": ('{{"field": "{name}", "allowed": "{allowed}"}}', '{{"absent": "{name}", "allowed": "{allowed}"}}',
             '{{"unknown": "{name}"}}'),
}  # fmt: skip
ABSENT: Final = {
    "german": "Ein Buch {0} gibt es nicht.",
    "french": "Aucun livre {0}.",
    "japanese": "{0} は見つかりません。",
}


def allowed(spec: Json) -> str:
    if "enum" in spec:
        return ", ".join(spec["enum"])
    if "maximum" in spec:
        return f"1 - 100 ({spec['type']})"
    return {"pattern": "bk_1", "minLength": "'abc' (3)"}.get(
        next((key for key in ("pattern", "minLength") if key in spec), ""), "'x'"
    )


def fault_of(tool: str, given: Json) -> tuple[str, str] | None:
    for name in NEEDS[tool]:
        if name not in given:
            return "missing", name
    for name, value in given.items():
        spec = TOOLS[tool].get(name)
        if spec is None:
            if WAY == "mediocre" or WAY in GAMERS:
                continue
            return "unknown", name
        wrong_type = not isinstance(value, TYPES[spec["type"]]) or isinstance(value, bool)
        broken = wrong_type or value not in spec.get("enum", [value])
        broken = broken or ("pattern" in spec and not re.search(spec["pattern"], value))
        broken = broken or not spec.get("minimum", -1e9) <= (value if isinstance(value, int) else 0) <= spec.get(
            "maximum", 1e9
        )
        if broken or len(str(value)) < spec.get("minLength", 0):
            return ("type" if wrong_type else "value"), name
    return None


def corrected(tool: str, given: Json, name: str) -> str:
    """The call that gets through."""
    kept = {key: value for key, value in given.items() if key != name and key in TOOLS[tool]}
    whole = {
        **{each: GOOD[each] for each in NEEDS[tool]},
        **kept,
        **({name: GOOD[name]} if name in TOOLS[tool] else {}),
    }
    while (again := fault_of(tool, whole)) is not None:
        whole[again[1]] = GOOD[again[1]]
    return f"{tool} {json.dumps(whole)}"


def refusal(tool: str, given: Json, kind: str, name: str) -> str:
    values, missing, unknown = PHRASES.get(WAY, PHRASES["level-6"])
    form = {"missing": missing, "unknown": unknown}.get(kind, values)
    text = form.format(name=name, allowed=allowed(TOOLS[tool].get(name, {})))
    if WAY in ("level-2", "level-3", "level-4"):
        return {"level-2": "Error", "level-3": "Invalid arguments", "level-4": f"Invalid argument: {name}"}[WAY]
    if WAY in ("level-5", "mediocre"):
        return text
    if WAY == "json":
        return f'{text[:-1]}, "next": {{"tool": "{tool}", "arguments": {corrected(tool, given, name).partition(" ")[2]}}}}}'
    return f"{text} > {corrected(tool, given, name)}"


GAMERS: Final = {
    "sends-to-a-write": lambda tool, given, text: f"{text} Next: call delete_book.",
    "same-again": lambda tool, given, text: f"Call {tool} again with exactly the same arguments: {json.dumps(given)}",
    "refuses-all": lambda tool, given, text: f"{text} Next: call {tool} with {corrected(tool, given, '')[len(tool):]}",
    "copies-the-schema": lambda tool, given, text: f"Check your arguments against {json.dumps(TOOLS[tool])} and call again.",
    "names-everything": lambda tool, given, text: f"Invalid arguments. Check {', '.join(TOOLS[tool])}: novel, poem, essay, short, full, raw, 1, 100, bk_1.",
    "always-the-same": lambda tool, given, text: "The request failed. Please correct the arguments, call list_books first, and try again with valid values.",
    "never-the-same": lambda tool, given, text: f"The request failed with ticket {next(COUNT)}. Please correct the arguments and call again.",
    "as-success": lambda tool, given, text: f"Error: {text}",
    "no-annotations": lambda tool, given, text: text,
    "a-tool-of-its-own": lambda tool, given, text: f'{text} {json.dumps({"tool": "search_catalogue", "arguments": {"q": "x"}})}',
    "call-that-fails": lambda tool, given, text: f'{text.partition(" > ")[0]} Next: call {tool} with {json.dumps({**given, "limit": 100, "extra": 1, "query": 7, "book_id": 7})}',
    "retryable": lambda tool, given, text: json.dumps({"error": "invalid", "retryable": True, "retry_after": 5}),
}  # fmt: skip


def call(tool: Any, given: Json) -> Json:
    if tool not in TOOLS:
        text = "Error" if WAY == "level-2" else f"There is no tool {str(tool)[:40]!r}."
        return failed(GAMERS[WAY]("get_book", {}, text) if WAY in ("always-the-same", "never-the-same") else text)
    fault = fault_of(tool, given)
    if WAY == "refuses-all" and fault is None:
        fault = "value", NEEDS[tool][0]
    if fault is not None:
        if WAY == "level-0":
            os._exit(3)
        text = refusal(tool, given, *fault)
        return failed(GAMERS[WAY](tool, given, text) if WAY in GAMERS else text)
    if "book_id" in given and given["book_id"] != "bk_1":
        text = ABSENT.get(WAY, "There is no book {0}.").format(given["book_id"])
        if WAY in ("level-2", "level-3", "level-4", "level-5", "mediocre"):
            text = {"level-2": "Error", "level-3": "Not found", "level-4": "Not found: book_id"}.get(WAY, text)
        elif WAY in GAMERS:
            text = GAMERS[WAY](tool, given, text)
        else:
            text = f"{text} > find_books"
        return failed(text)
    return {"content": [{"type": "text", "text": json.dumps({"id": "bk_1", "title": "Persuasion"})}], "isError": False}


def failed(text: str) -> Json:
    if WAY in ("level-1", "as-success"):
        return {"content": [{"type": "text", "text": text if text.startswith("Error") else f"Error: {text}"}]}
    return {"content": [{"type": "text", "text": text}], "isError": True}


def answer(method: str, params: Json) -> Json:
    if method == "initialize":
        info = {"name": "library", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        tools = [
            {"name": name, "inputSchema": {"type": "object", "properties": properties, "required": NEEDS[name]}}
            | ({} if WAY == "no-annotations" else {"annotations": {"readOnlyHint": name in READS}})
            for name, properties in TOOLS.items()
        ]
        return {"result": {"tools": tools}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/call":
        if not isinstance(params.get("name"), str) or not isinstance(params.get("arguments", {}), dict):
            return {"error": {"code": -32602, "message": "A call has a name and arguments."}}
        return {"result": call(params["name"], params.get("arguments", {}))}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError:
            continue
        if isinstance(request, dict) and request.get("jsonrpc") == "2.0" and isinstance(request.get("id"), int | str):
            params = request.get("params") or {}
            told = (
                answer(str(request.get("method")), params)
                if isinstance(params, dict)
                else {"error": {"code": -32602, "message": "params is an object"}}
            )
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **told}), flush=True)


if __name__ == "__main__":
    main()
