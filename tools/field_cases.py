"""What is tried on each server of the field trial, and what a reasonable person makes of it.

The expected kinds were written down before anything was read, from what was done to the server, not from its words.
`{here}` is the folder of the server, `{web}` a web server that answers with the status it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

WORKS: Final = "works"
CONFLICT: Final = "conflict"
INTERNAL: Final = "internal"
NOT_FOUND: Final = "not_found"
PERMISSION: Final = "permission"
TRANSIENT: Final = "transient"
VALIDATION: Final = "validation"
# What is wrong with a value that names a thing, such as a time zone, can be said in both ways.
EITHER: Final = f"{VALIDATION} {NOT_FOUND}"


@dataclass(frozen=True)
class Case:
    """One call, and what it should be read as."""

    what: str
    tool: str
    arguments: Mapping[str, Any]
    expected: str
    """`works`, or the kind; several where each of them is right."""
    fields: str = ""
    """The arguments that the error should name."""


def ok(tool: str, **arguments: Any) -> Case:
    return Case("a call that works", tool, arguments, WORKS)


def unknown(tool: str) -> Case:
    return Case("unknown tool", tool, {}, NOT_FOUND)


def missing(tool: str, field: str, **arguments: Any) -> Case:
    return Case("missing argument", tool, arguments, VALIDATION, field)


def typed(tool: str, field: str, **arguments: Any) -> Case:
    return Case("wrong type", tool, arguments, VALIDATION, field)


def ignored(tool: str, **arguments: Any) -> Case:
    """Most servers ignore an argument they do not know, and then nothing has failed."""
    return Case("extra argument, ignored", tool, {**arguments, "zz": 1}, WORKS)


def case(what: str, expected: str, tool: str, **arguments: Any) -> Case:
    return Case(what, tool, arguments, expected)


_FILE: Final = "{here}/tea.txt"
_BOOK: Final = "{here}/a.xlsx"

CASES: Final[dict[str, tuple[Case, ...]]] = {
    "time": (
        ok("get_current_time", timezone="UTC"),
        unknown("get_curent_time"),
        missing("get_current_time", "timezone"),
        typed("get_current_time", "timezone", timezone=5),
        ignored("get_current_time", timezone="UTC"),
        case("no such zone", EITHER, "get_current_time", timezone="Mars/Base"),
        case("no such hour", VALIDATION, "convert_time", source_timezone="UTC", time="25:99", target_timezone="UTC"),
    ),
    "fetch": (
        ok("fetch", url="{web}/200"),
        unknown("get"),
        missing("fetch", "url"),
        typed("fetch", "max_length", url="{web}/200", max_length="many"),
        Case("out of range", "fetch", {"url": "{web}/200", "max_length": -5}, VALIDATION, "max_length"),
        case("no URL", VALIDATION, "fetch", url="tea"),
        case("refused connection", TRANSIENT, "fetch", url="http://127.0.0.1:9/tea"),
        case("no such host", TRANSIENT, "fetch", url="http://tea.invalid/"),
        case("HTTP 401", PERMISSION, "fetch", url="{web}/401"),
        case("HTTP 403", PERMISSION, "fetch", url="{web}/403"),
        case("HTTP 404", NOT_FOUND, "fetch", url="{web}/404"),
        case("HTTP 409", CONFLICT, "fetch", url="{web}/409"),
        case("HTTP 429", TRANSIENT, "fetch", url="{web}/429"),
        case("HTTP 500", f"{TRANSIENT} {INTERNAL}", "fetch", url="{web}/500"),
        case("HTTP 503", TRANSIENT, "fetch", url="{web}/503"),
        case("connection reset", TRANSIENT, "fetch", url="{web}/reset"),
        case("robots.txt says no", PERMISSION, "fetch", url="{web}/private"),
    ),
    "git": (
        ok("git_status", repo_path="{here}"),
        unknown("git_push"),
        missing("git_show", "revision", repo_path="{here}"),
        typed("git_log", "max_count", repo_path="{here}", max_count="all"),
        case("outside of the repository", PERMISSION, "git_status", repo_path="/"),
        case("no such revision", NOT_FOUND, "git_show", repo_path="{here}", revision="nope"),
        case("no such branch", NOT_FOUND, "git_checkout", repo_path="{here}", branch_name="nope"),
        case("no such file", NOT_FOUND, "git_add", repo_path="{here}", files=["nope.txt"]),
        case("branch exists", CONFLICT, "git_create_branch", repo_path="{here}", branch_name="main"),
        case("an option for a revision", VALIDATION, "git_diff", repo_path="{here}", target="--output=x"),
    ),
    "excel": (
        ok("create_workbook", path=_BOOK),
        ok("list_workbooks", directory="{here}"),
        unknown("read_workbook"),
        missing("describe_workbook", "path"),
        typed("create_sheet", "position", path=_BOOK, new_name="x", position="first"),
        case("no such file", NOT_FOUND, "describe_workbook", path="{here}/nope.xlsx"),
        case("file exists", CONFLICT, "create_workbook", path=_BOOK),
        case("no such sheet", NOT_FOUND, "describe_sheet", path=_BOOK, sheet="Nope"),
        case("sheet exists", CONFLICT, "create_sheet", path=_BOOK, new_name="Sheet1"),
        case("bad name", VALIDATION, "create_sheet", path=_BOOK, new_name="a/b"),
    ),
    "sqlite": (
        ok("create_table", query="create table tea (id integer primary key)"),
        ok("write_query", query="insert into tea values (1)"),
        ok("list_tables"),
        # It looks for arguments before it looks which tool was meant.
        case("unknown tool", EITHER, "drop_table"),
        missing("read_query", "query"),
        typed("read_query", "", query=5),
        case("bad SQL", VALIDATION, "read_query", query="select from where"),
        case("no such table", NOT_FOUND, "read_query", query="select * from nope"),
        case("no such column", EITHER, "read_query", query="select nope from tea"),
        case("not a SELECT", f"{VALIDATION} {PERMISSION}", "read_query", query="delete from tea"),
        case("key exists", CONFLICT, "write_query", query="insert into tea values (1)"),
        case("table exists", CONFLICT, "create_table", query="create table tea (id integer)"),
    ),
    "shell": (
        ok("shell_execute", command=["ls"], directory="{here}"),
        unknown("execute"),
        missing("shell_execute", "command", directory="{here}"),
        typed("shell_execute", "command", command="ls", directory="{here}"),
        case("command not allowed", PERMISSION, "shell_execute", command=["rm", "x"], directory="{here}"),
        case("no such file", NOT_FOUND, "shell_execute", command=["cat", "nope.txt"], directory="{here}"),
        case("no such folder", NOT_FOUND, "shell_execute", command=["ls"], directory="{here}/nope"),
        case("takes too long", TRANSIENT, "shell_execute", command=["sleep", "9"], directory="{here}", timeout=1),
        case("nothing to run", VALIDATION, "shell_execute", command=[], directory="{here}"),
    ),
    "calculator": (
        ok("calculate", expression="6*7"),
        unknown("add"),
        missing("calculate", "expression"),
        typed("calculate", "expression", expression=[1]),
        case("divided by zero", VALIDATION, "calculate", expression="1/0"),
        case("no expression", VALIDATION, "calculate", expression="6*"),
        case("forbidden name", f"{VALIDATION} {PERMISSION}", "calculate", expression="__import__('os')"),
    ),
    "redis": (
        unknown("flushall"),
        missing("hget", "key", name="a"),
        typed("hget", "name", name=[1], key="b"),
        case("database away", TRANSIENT, "hget", name="a", key="b"),
        case("database away, a write", TRANSIENT, "hset", name="a", key="b", value="c"),
    ),
    "motherduck": (
        ok("execute_query", sql="create table tea (id integer primary key)"),
        ok("execute_query", sql="insert into tea values (1)"),
        ok("list_databases"),
        unknown("query"),
        missing("execute_query", "sql"),
        typed("execute_query", "sql", sql=[1]),
        Case("extra argument", "execute_query", {"sql": "select 1", "zz": 1}, VALIDATION, "zz"),
        case("bad SQL", VALIDATION, "execute_query", sql="select from where"),
        case("no such table", NOT_FOUND, "execute_query", sql="select * from nope"),
        case("no such column", EITHER, "execute_query", sql="select nope from tea"),
        case("key exists", CONFLICT, "execute_query", sql="insert into tea values (1)"),
        case("table exists", CONFLICT, "execute_query", sql="create table tea (id integer)"),
        case("wrong value", VALIDATION, "execute_query", sql="select 'x'::integer"),
        case("no such table to list", NOT_FOUND, "list_columns", table="nope"),
    ),
    "chroma": (
        ok("chroma_create_collection", collection_name="tea", embedding_function_name="default"),
        ok("chroma_list_collections"),
        unknown("chroma_drop"),
        missing("chroma_get_collection_info", "collection_name"),
        typed("chroma_list_collections", "limit", limit="all"),
        case("no such collection", NOT_FOUND, "chroma_get_collection_info", collection_name="nope"),
        case("collection exists", CONFLICT, "chroma_create_collection", collection_name="tea"),
        case("bad name", VALIDATION, "chroma_create_collection", collection_name="?"),
    ),
    "everything": (
        ok("echo", message="tea"),
        unknown("ecko"),
        missing("echo", "message"),
        typed("get-sum", "a", a="one", b=2),
        ignored("echo", message="tea"),
        Case("not one of the values", "get-annotated-message", {"messageType": "nope"}, VALIDATION, "messageType"),
        case("out of range", VALIDATION, "get-resource-reference", resourceId=-1),
        case("refused connection", TRANSIENT, "gzip-file-as-resource", name="x", data="http://127.0.0.1:9/"),
    ),
    "filesystem": (
        ok("read_text_file", path=_FILE),
        unknown("delete_file"),
        missing("read_text_file", "path"),
        typed("read_text_file", "path", path=5),
        ignored("read_text_file", path=_FILE),
        case("no such file", NOT_FOUND, "read_text_file", path="{here}/nope.txt"),
        case("outside of the folder", PERMISSION, "read_text_file", path="/etc/hosts"),
        case("a folder for a file", VALIDATION, "read_text_file", path="{here}"),
        case("a file for a folder", VALIDATION, "list_directory", path=_FILE),
        case("no such folder", NOT_FOUND, "write_file", path="{here}/nope/x.txt", content="x"),
        case("both head and tail", VALIDATION, "read_text_file", path=_FILE, head=1, tail=1),
        case("file exists", CONFLICT, "move_file", source=_FILE, destination=_FILE),
        case("no such text", EITHER, "edit_file", path=_FILE, edits=[{"oldText": "coffee", "newText": "x"}]),
    ),
    "memory": (
        ok("read_graph"),
        unknown("drop_graph"),
        missing("search_nodes", "query"),
        typed("open_nodes", "names", names="tea"),
        Case("incomplete item", "create_entities", {"entities": [{"name": "x"}]}, VALIDATION, "entities"),
        case("no such entity", NOT_FOUND, "add_observations", observations=[{"entityName": "nope", "contents": ["x"]}]),
    ),
    "thinking": (
        ok("sequentialthinking", thought="tea", nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1),
        unknown("think"),
        missing("sequentialthinking", "thought", nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1),
        typed(
            "sequentialthinking",
            "thoughtNumber",
            thought="t",
            nextThoughtNeeded=False,
            thoughtNumber="x",
            totalThoughts=1,
        ),
    ),
    "dbhub": (
        ok("execute_sql", sql="create table tea (id integer primary key)"),
        ok("execute_sql", sql="insert into tea values (1)"),
        ok("search_objects", object_type="table"),
        unknown("query"),
        missing("execute_sql", "sql"),
        typed("execute_sql", "sql", sql=5),
        Case("not one of the values", "search_objects", {"object_type": "nope"}, VALIDATION, "object_type"),
        case("bad SQL", VALIDATION, "execute_sql", sql="select from where"),
        case("no such table", NOT_FOUND, "execute_sql", sql="select * from nope"),
        case("key exists", CONFLICT, "execute_sql", sql="insert into tea values (1)"),
        case("table exists", CONFLICT, "execute_sql", sql="create table tea (id integer)"),
        case("no such schema", NOT_FOUND, "search_objects", object_type="table", schema="nope"),
    ),
    "repomix": (
        ok("pack_codebase", directory="{here}"),
        unknown("unpack"),
        missing("pack_codebase", "directory"),
        typed("pack_codebase", "compress", directory="{here}", compress="very"),
        case("no such folder", NOT_FOUND, "pack_codebase", directory="{here}/nope"),
        case("no such output", NOT_FOUND, "read_repomix_output", outputId="nope"),
        case("no such file", NOT_FOUND, "attach_packed_output", path="{here}/nope.xml"),
        case("no such host", TRANSIENT, "pack_remote_repository", remote="https://tea.invalid/a/b.git"),
    ),
    "toolbox": (
        ok("execute_sql", sql="create table tea (id integer primary key)"),
        ok("execute_sql", sql="insert into tea values (1)"),
        ok("list_tables"),
        unknown("query"),
        missing("execute_sql", "sql"),
        typed("execute_sql", "sql", sql=5),
        case("bad SQL", VALIDATION, "execute_sql", sql="select from where"),
        case("no such table", NOT_FOUND, "execute_sql", sql="select * from nope"),
        case("key exists", CONFLICT, "execute_sql", sql="insert into tea values (1)"),
        case("table exists", CONFLICT, "execute_sql", sql="create table tea (id integer)"),
    ),
    "kubernetes": (
        ok("configuration_view"),
        unknown("pods_drop"),
        missing("pods_get", "name"),
        typed("pods_get", "name", name=5),
        case("cluster away", TRANSIENT, "pods_list"),
        case("cluster away, a write", TRANSIENT, "pods_delete", name="x"),
    ),
    "moon": (
        ok("get_projects"),
        unknown("get_nothing"),
        missing("get_project", "id"),
        typed("get_project", "", id=5),
        case("no such project", NOT_FOUND, "get_project", id="nope"),
    ),
}
