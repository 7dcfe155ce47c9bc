"""Defects of a server that is written by hand, line by line: `python railway_defects.py NAME --bad|--good`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from railway import STATIONS, TOOLS, Json, Railway, Refused, said, sorry

JAVA = """java.util.NoSuchElementException: {code}
	at uk.co.timetable.Board.lookup(Board.java:88)
	at uk.co.timetable.Handlers.departures(Handlers.java:41)
	at java.base/java.lang.Thread.run(Thread.java:1583)"""
GO = "panic: runtime error: index out of range [3]\n\ngoroutine 21 [running]:\nmain.departures(0xc0000b4000)\n\t/build/board.go:57 +0x1d"


class NotMarked(Railway):
    def nowhere(self, code: str) -> Json:
        return said(super().nowhere(code)["content"][0]["text"])


class MarkedInJson(Railway):
    """{"ok": false, …} as an ordinary result."""

    def nowhere(self, code: str) -> Json:
        return said(json.dumps({"ok": False, "reason": super().nowhere(code)["content"][0]["text"]}))


class RefusalNotMarked(Railway):
    def call(self, name: str, arguments: Json) -> Json:
        answer = super().call(name, arguments)
        return (
            said("Warning: " + answer["content"][0]["text"])
            if name == "departures" and self.wrong(arguments)
            else answer
        )


class EmptyList(Railway):
    def nowhere(self, code: str) -> Json:
        return said("[]")


class OldEnvelope(Railway):
    def nowhere(self, code: str) -> Json:
        return {"toolResult": super().nowhere(code)}


class SecondBlock(Railway):
    def nowhere(self, code: str) -> Json:
        told = super().nowhere(code)
        return {**told, "content": [{"type": "text", "text": "Oops!"}, *told["content"]]}


class JavaTrace(Railway):
    def nowhere(self, code: str) -> Json:
        return sorry(f"{super().nowhere(code)['content'][0]['text']}\n{JAVA.format(code=code)}")


class GoTrace(Railway):
    def bad_limit(self, value: Any) -> str:
        return f"{super().bad_limit(value)}\n{GO}"


class SqlText(Railway):
    def nowhere(self, code: str) -> Json:
        sql = f"(sqlite3.OperationalError) no such column: {code} [SQL: SELECT due FROM calls WHERE stop_id = {code}]"
        return sorry(f"{sql}. {super().nowhere(code)['content'][0]['text']}")


class NoOptions(Railway):
    def bad_kind(self, value: Any) -> str:
        return "kind has a value that is not supported. Pick a supported one or omit it."


class NoBounds(Railway):
    def bad_limit(self, value: Any) -> str:
        return "limit is unsuitable. Please correct limit."


class NoStation(Railway):
    def bad_station(self, value: Any) -> str:
        return "That should be text of three capital letters like YRK. Use find_station to look it up."


class NoStep(Railway):
    def nowhere(self, code: str) -> Json:
        return sorry(f"{code} is not on our network.")


class OneWord(Railway):
    def nowhere(self, code: str) -> Json:
        return sorry("Failure")


class TakesLimits(Railway):
    def bad_limit(self, value: Any) -> Any:
        return None


class TakesAnyKind(Railway):
    def bad_kind(self, value: Any) -> Any:
        return None


class Lenient(Railway):
    def stray(self, tool: str, arguments: Json, known: list[str]) -> None:
        return None


class NoNearName(Railway):
    def no_tool(self, name: str) -> Json:
        return sorry(f"We do not offer {json.dumps(name)[:40]}. Call tools/list to see what there is.")


class AnyTool(Railway):
    def no_tool(self, name: str) -> Json:
        return said("{}")


class NoVersionField(Railway):
    def reply(self, message: Json) -> Json:
        answer = super().reply(message)
        if "isError" in answer.get("result", {}):
            del answer["jsonrpc"]
        return answer


class Twice(Railway):
    def replies(self, message: Any) -> Iterator[Json]:
        for answer in super().replies(message):
            yield answer
            if answer.get("result", {}).get("isError"):
                yield answer


class NextId(Railway):
    """An error is sent with the number of the next request."""

    def reply(self, message: Json) -> Json:
        answer = super().reply(message)
        if "isError" in answer.get("result", {}):
            answer["id"] = answer["id"] + 1 if isinstance(answer["id"], int) else f"{answer['id']}1"
        return answer


class MethodIsInternal(Railway):
    def other(self, method: str, params: Json) -> Json:
        raise Refused(-32603, f"There is no method {method[:40]!r} here.")


class ParamsAreInternal(Railway):
    def asked(self, params: Json) -> Json:
        try:
            return super().asked(params)
        except Refused as no:
            raise Refused(-32603, str(no)) from None


class ForeignCode(Railway):
    """A number that the protocol keeps for itself."""

    def asked(self, params: Json) -> Json:
        try:
            return super().asked(params)
        except Refused as no:
            raise Refused(-32042, str(no)) from None


class AnyVersion(Railway):
    def version(self, wanted: str) -> str:
        return wanted


class AnswersNotices(Railway):
    def replies(self, message: Any) -> Iterator[Json]:
        if self.sound(message) and "id" not in message and message["method"] != "notifications/initialized":
            yield {"jsonrpc": "2.0", "id": None, "result": {}}
        yield from super().replies(message)


class Careless(Railway):
    """Carries out what is no request."""

    def sound(self, message: Any) -> bool:
        return isinstance(message, dict) and "method" in message

    def replies(self, message: Any) -> Iterator[Json]:
        if self.sound(message) and not isinstance(message.get("params", {}), dict):
            message = {**message, "params": {}}
        yield from super().replies(message)


class BadJsonIsInternal(Railway):
    def frames(self, line: str) -> Iterator[Json]:
        for answer in super().frames(line):
            if answer.get("error", {}).get("code") == -32700:
                answer["error"]["code"] = -32603
            yield answer


class OneOfTwo(Railway):
    """An id that is in use is not answered again, and not refused either."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def replies(self, message: Any) -> Iterator[Json]:
        number = json.dumps(message.get("id")) if isinstance(message, dict) and "id" in message else None
        if number in self.seen and number != "null":
            return
        if number is not None:
            self.seen.add(number)
        yield from super().replies(message)


class Shelf(Railway):
    """With resources."""

    capabilities: ClassVar[Json] = {"tools": {}, "resources": {}}

    def other(self, method: str, params: Json) -> Json:
        if method == "resources/list":
            return {"resources": [{"uri": "map://lines", "name": "The lines"}]}
        if method == "resources/templates/list":
            return {"resourceTemplates": []}
        if method == "resources/read":
            if params.get("uri") == "map://lines":
                return {"contents": [{"uri": "map://lines", "text": "East Coast"}]}
            return self.no_resource(str(params.get("uri")))
        return super().other(method, params)

    def no_resource(self, uri: str) -> Json:
        raise Refused(-32002, f"There is no resource {uri[:60]!r}; resources/list has them.")


class EmptyShelf(Shelf):
    def no_resource(self, uri: str) -> Json:
        return {"contents": []}


class Debugging(Railway):
    def nowhere(self, code: str) -> Json:
        print(f"DEBUG lookup {code} -> None", flush=True)
        return super().nowhere(code)


class Ends(Railway):
    def wrong(self, arguments: Json) -> str | None:
        if arguments.get("station", 0) is None or isinstance(arguments.get("station"), list | dict):
            sys.exit(3)
        return super().wrong(arguments)


class ListFails(Railway):
    def handle(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            raise Refused(-32603, "fetch failed")
        return super().handle(method, params)


class NoStart(Railway):
    def serve(self) -> None:
        sys.exit("Error: DATABASE_URL is not set")


class Verbose(Railway):
    def nowhere(self, code: str) -> Json:
        manual = " ".join(
            f"Rule {n}: codes are given out by the network's office, see the handbook of {1990 + n}." for n in range(60)
        )
        return sorry(f"{super().nowhere(code)['content'][0]['text']} {manual}")


class Dump(Railway):
    def nowhere(self, code: str) -> Json:
        known = json.dumps([{**STATIONS, "row": n} for n in range(500)])
        return sorry(f"{super().nowhere(code)['content'][0]['text']} Known stations: {known}")


class Quotes(Railway):
    def bad_station(self, value: Any) -> str:
        return f"{super().bad_station(value)} You sent {json.dumps(value, ensure_ascii=True)}."


class Later(Railway):
    def nowhere(self, code: str) -> Json:
        return sorry(f"{code} is not on our network. Please retry in a few moments.")


class Coded(Railway):
    """With a code of its own in each failure."""

    def call(self, name: str, arguments: Json) -> Json:
        answer = super().call(name, arguments)
        return {**answer, **self.code(answer)} if answer.get("isError") else answer

    def code(self, answer: Json) -> Json:
        text = answer["content"][0]["text"]
        code = "STATION_UNKNOWN" if "network" in text or "No station" in text else "BAD_ARGUMENT"
        return {"structuredContent": {"error": {"code": "NO_SUCH_TOOL" if "offer" in text else code, "message": text}}}


class Uncoded(Coded):
    def code(self, answer: Json) -> Json:
        return {}


class Declared(Coded):
    """With a list of the codes that its tools may send."""

    def handle(self, method: str, params: Json) -> Json:
        if method != "tools/list":
            return super().handle(method, params)
        codes = {"io.github.failwell/raises": {"codes": ["STATION_UNKNOWN", "BAD_ARGUMENT"]}}
        return {"tools": [{**tool, "_meta": codes} for tool in TOOLS]}


class Undeclared(Declared):
    def code(self, answer: Json) -> Json:
        told = super().code(answer)["structuredContent"]["error"]
        return {"structuredContent": {"error": {**told, "code": told["code"].replace("STATION", "STOP")}}}


class Office(Railway):
    """Where vouchers are redeemed, which needs a passphrase."""

    tool: ClassVar[Json] = {
        "name": "redeem",
        "description": "Pays with a voucher.",
        "inputSchema": {
            "type": "object",
            "properties": {"voucher": {"type": "string"}, "passphrase": {"type": "string"}},
            "required": ["voucher", "passphrase"],
            "additionalProperties": False,
        },
    }

    def handle(self, method: str, params: Json) -> Json:
        return {"tools": [*TOOLS, self.tool]} if method == "tools/list" else super().handle(method, params)

    def call(self, name: str, arguments: Json) -> Json:
        if name != "redeem":
            return super().call(name, arguments)
        wrong = self.stray(name, arguments, ["voucher", "passphrase"])
        bad = [key for key in ("voucher", "passphrase") if not isinstance(arguments.get(key), str)]
        return sorry(wrong or self.bad_voucher(bad, arguments)) if wrong or bad else said("Paid.")

    def bad_voucher(self, bad: list[str], arguments: Json) -> str:
        return f"Please give {' and '.join(bad)} as text; nothing has been redeemed."


class QuotesAll(Office):
    def bad_voucher(self, bad: list[str], arguments: Json) -> str:
        return f"{super().bad_voucher(bad, arguments)} Received: {arguments}"


class GhostLookup(Railway):
    def nowhere(self, code: str) -> Json:
        return sorry(f"{code} is not on our network. Look the right code up with station_search and use that.")


class GhostMeant(Railway):
    def nearest(self, name: str) -> str:
        return "list_trains"


class Polite(Railway):
    """Says to try again, with something else than before."""

    def nowhere(self, code: str) -> Json:
        return sorry(
            f"{code} is not on our network. Find the right letters with find_station, then try again with them."
        )

    def bad_limit(self, value: Any) -> str:
        return "limit is a whole number between 1 and 40. Correct it and retry."


class OnceMore(Polite):
    def nowhere(self, code: str) -> Json:
        return sorry(f"{code} is not on our network. Please attempt this request once more.")


class LimitAgain(Polite):
    def bad_limit(self, value: Any) -> str:
        return "limit was not accepted this time; it is a whole number between 1 and 40. Simply send the same again."


SERVERS = {
    "ghost-lookup": GhostLookup, "ghost-meant": GhostMeant, "once-more": OnceMore, "limit-again": LimitAgain,
    "uncoded": Uncoded, "undeclared": Undeclared, "quotes-all": QuotesAll,
    "not-marked": NotMarked, "marked-in-json": MarkedInJson, "refusal-not-marked": RefusalNotMarked, "empty-list": EmptyList,
    "old-envelope": OldEnvelope, "second-oops": SecondBlock, "java-trace": JavaTrace, "go-trace": GoTrace, "sql-text": SqlText,
    "unlisted-kinds": NoOptions, "no-bounds": NoBounds, "no-station": NoStation, "no-step": NoStep, "one-word": OneWord,
    "takes-limits": TakesLimits, "takes-any-kind": TakesAnyKind, "lenient": Lenient, "no-near-tool": NoNearName,
    "any-tool-braces": AnyTool, "no-version-field": NoVersionField, "twice": Twice, "next-id": NextId,
    "method-is-internal": MethodIsInternal, "params-are-internal": ParamsAreInternal, "foreign-code": ForeignCode,
    "echoes-version": AnyVersion, "answers-notices-null": AnswersNotices, "careless": Careless, "bad-json-is-internal": BadJsonIsInternal,
    "one-of-two": OneOfTwo, "empty-shelf": EmptyShelf, "debugging": Debugging, "ends-at-null": Ends, "list-fails": ListFails,
    "no-database": NoStart, "verbose": Verbose, "dump": Dump, "quotes": Quotes, "later": Later,
}  # fmt: skip

if __name__ == "__main__":
    made: type[Railway] = SERVERS[sys.argv[1]]
    if sys.argv[2] == "--good":
        made = next(good for good in (Shelf, Declared, Coded, Office, Polite, Railway) if issubclass(made, good))
    made().serve()
