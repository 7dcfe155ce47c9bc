"""Contract 003 on a real wire: the social example as a process, with a network behind it that really fails.

The snapshots hold whole answers, without their ids and times. `FAILWELL_SNAPSHOTS=write` writes them anew.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from running import LEGACY, MODERN, SNAPSHOTS, Client, compare, talking
from social_world import Step, World, told

import failwell as fw
from failwell.examples.social import codes
from failwell.formats import pretty

SOCIAL = Path(codes.__file__).parent
WRITTEN = json.loads((SOCIAL / "manifest.json").read_text())
MANIFEST = {
    profile: {tool["name"]: tool for tool in WRITTEN["tools"] if profile in tool["profiles"]}
    for profile in ("workflow", "api")
}
FULL = "日本 " + "x" * 277
HTML = "<html>Bad gateway</html>"
SUSPENDED = json.dumps({"type": "https://x.example/problems/account-suspended", "detail": "the account is suspended"})
NAN = '{"data": [{"id": "1", "text": "#tea", "reply_to": null, "public_metrics": {"like_count": NaN}}]}'
TWICE = "Good morning"
APPROVE = {"thread_id": 3, "approve": True}
POST, MINE, LLM = "POST /2/tweets", "GET /2/users/me/tweets", "POST /v1/completions"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


def composer(world: World) -> None:
    world.set_policy(mode="composer")


def once(*texts: str) -> Any:
    """Each of these texts is out on the network, and none of them twice."""

    def check(world: World) -> None:
        counted = Counter(world.texts())
        assert {text: counted[text] for text in texts} == dict.fromkeys(texts, 1)

    return check


WORKFLOW = [
    Step("post", "compose_post", {"texts": ["Hello #tea"]}),
    Step("the same again", "compose_post", {"texts": ["Hello #tea"]}, "validation_error", after=once("Hello #tea")),
    Step("just short enough", "compose_post", {"texts": [FULL]}, after=once(FULL)),
    Step("too long", "compose_post", {"texts": [FULL + "x"]}, "tweet_too_long"),
    Step("too long in a thread", "compose_post", {"texts": ["short", "日" * 281]}, "tweet_too_long"),
    Step("empty", "compose_post", {"texts": [" "]}, "validation_error"),
    Step("misspelt argument", "compose_post", {"txts": ["Hello"]}, "validation_error"),
    Step("unknown tool", "compose_pst", {"texts": ["Hello"]}, "not_found"),
    Step("tool of the other profile", "x_post", {"texts": ["Hello"]}, "not_found"),
    Step("thread of nothing", "compose_post", {"texts": []}, "validation_error"),
    # the policy
    Step("blocked word", "compose_post", {"texts": ["Get rich quick!"]}, "policy_denied_blocked"),
    Step("hard rule", "compose_post", {"texts": ["@a @b @c @d @e @f"]}, "policy_denied_hard_rule"),
    Step(
        "user rule",
        "compose_post",
        {"texts": ["Vote for me"]},
        "policy_denied_user_rule",
        lambda world: world.set_policy(user_rules={"no politics": "(?i)vote"}),
    ),
    Step(
        "policy rate limit",
        "compose_post",
        {"texts": ["One more"]},
        "policy_denied_rate_limited",
        lambda world: world.set_policy(posts_per_hour=2),
    ),
    Step(
        "more than an hour allows",
        "compose_post",
        {"texts": ["a", "b", "c"]},
        "policy_denied_rate_limited",
    ),
    Step(
        "broken policy",
        "compose_post",
        {"texts": ["One more"]},
        "policy_error",
        lambda world: world.set_policy(user_rules={"unclosed": "("}),
    ),
    # approval
    Step("routed to approval", "compose_post", {"texts": ["One more"]}, before=composer),
    Step("routed and rejected", "compose_post", {"texts": ["Rather not"]}),
    Step("approvals", "list_threads", {"state": "waiting"}),
    Step("approval is not to be got round", "resume_thread", {"thread_id": 3}, "not_found"),
    Step("approve while X is busy", "decide", APPROVE, "x_rate_limited", lambda world: world.fail(POST, 429)),
    Step("approve", "decide", APPROVE, after=once("One more")),
    Step("approve again", "decide", APPROVE, "validation_error", after=once("One more")),
    Step("reject", "decide", {"thread_id": 4, "approve": False}),
    Step("approve what was rejected", "decide", {"thread_id": 4, "approve": True}, "not_found"),
    Step(
        "approval without composer",
        "compose_post",
        {"texts": ["Let me see"]},
        before=lambda world: world.set_policy(approval=True),
    ),
    # the network
    Step(
        "rate limited",
        "compose_post",
        {"texts": ["patient"]},
        "x_rate_limited",
        lambda world: (
            world.set_policy(),
            world.fail(POST, 429, '{"detail": "slow down"}', headers={"Retry-After": "30"}),
        ),
    ),
    Step("and once more, which is no duplicate", "compose_post", {"texts": ["patient"]}, after=once("patient")),
    Step("expired", "compose_post", {"texts": ["e1"]}, "x_auth_expired", lambda world: world.fail(POST, 401)),
    Step(
        "forbidden",
        "compose_post",
        {"texts": ["e2"]},
        "x_forbidden",
        lambda world: world.fail(POST, 403, '{"detail": "not your list"}'),
    ),
    Step(
        "restricted",
        "compose_post",
        {"texts": ["e3"]},
        "x_account_restricted",
        lambda world: world.fail(POST, 403, SUSPENDED),
    ),
    Step("unavailable", "compose_post", {"texts": ["e4"]}, "x_api_error", lambda world: world.fail(POST, 503, "later")),
    Step(
        "broke while writing",
        "compose_post",
        {"texts": ["e5"]},
        "x_api_error",
        lambda world: world.fail(POST, 500, HTML),
    ),
    Step(
        "unreadable",
        "compose_post",
        {"texts": ["e6"]},
        "x_api_error",
        lambda world: world.fail(POST, 200, HTML),
    ),
    Step("cut off", "compose_post", {"texts": ["e7"]}, "x_network_error", lambda world: world.fail(POST)),
    Step("a look", "list_posts", {"limit": 1}),
    Step("cut off, again too soon", "compose_post", {"texts": ["e7"]}, "validation_error"),
    Step(
        "answer lost",
        "compose_post",
        {"texts": ["lost"]},
        "x_network_error",
        lambda world: world.fail(POST, done=True),
    ),
    Step("found again", "resume_thread", {"thread_id": 14}, after=once("lost")),
    Step("cut off while reading", "list_posts", {}, "x_network_error", lambda world: world.fail(MINE)),
    # threads
    Step(
        "thread stops",
        "compose_post",
        {"texts": ["t1", "t2", "t3"]},
        "thread_partial_failure",
        lambda world: world.fail(POST, 429, skip=1, headers={"Retry-After": "7"}),
        after=once("t1"),
    ),
    Step(
        "thread stops again",
        "resume_thread",
        {"thread_id": 15},
        "thread_partial_failure",
        lambda world: world.fail(POST, 503, skip=1),
    ),
    Step("another look", "list_posts", {"limit": 1}),
    Step("thread goes on", "resume_thread", {"thread_id": 15}, after=once("t1", "t2", "t3")),
    Step(
        "thread goes on too often", "resume_thread", {"thread_id": 15}, "validation_error", after=once("t1", "t2", "t3")
    ),
    Step(
        "thread loses an answer",
        "compose_post",
        {"texts": ["l1", "l2", "l3"]},
        "thread_partial_failure",
        lambda world: world.fail(POST, skip=1, done=True),
        after=once("l1", "l2"),
    ),
    Step("a third look", "list_posts", {"limit": 1}),
    Step("thread called again", "compose_post", {"texts": ["l1", "l2", "l3"]}, after=once("l1", "l2", "l3")),
    Step(
        "thread that never began",
        "compose_post",
        {"texts": ["n1", "n2"]},
        "x_forbidden",
        lambda world: world.fail(POST, 403),
    ),
    Step("thread unknown", "resume_thread", {"thread_id": 99}, "not_found"),
    Step(
        "cut off before posting", "compose_post", {"texts": ["e8"]}, "x_network_error", lambda world: world.fail(MINE)
    ),
    # the database
    Step("database locked", "compose_post", {"texts": ["d1"]}, "db_error", during=World.locked),
    Step("database locked while reading", "list_threads", {"state": "open"}, "db_error", during=World.locked),
    # media
    Step("upload", "upload_media", {"path": "cat.png"}),
    Step("post with a picture", "compose_post", {"texts": ["My cat"], "media_id": "m4"}),
    Step("no picture", "upload_media", {"path": "notes.txt"}, "unsupported_media_type"),
    Step("no file", "upload_media", {"path": "dog.png"}, "file_read_error"),
    Step("outside", "upload_media", {"path": "../../cat.png"}, "invalid_input"),
    Step("upload refused", "upload_media", {"path": "empty.png"}, "media_upload_error"),
    # drafts, and the language model
    Step("have a draft written", "write_draft", {"topic": "#tea"}),
    Step(
        "model broken",
        "write_draft",
        {"topic": "milk"},
        "llm_error",
        lambda world: world.fail(LLM, 500, '{"error": {"message": "overloaded"}}'),
    ),
    Step("model recovered", "write_draft", {"topic": "milk"}),
    Step("model says nothing", "write_draft", {"topic": "salt"}, "llm_error", lambda world: world.fail(LLM, 200, "{}")),
    Step("post a draft", "decide", {"thread_id": 20, "approve": True}, after=once("Some thoughts about #tea.")),
    Step("no such draft", "decide", {"thread_id": 99, "approve": True}, "not_found"),
    # context and analytics
    Step("context", "author_context", {"username": "ann"}),
    Step("context of a stranger", "author_context", {"username": "ghost"}, "context_error"),
    Step("nobody", "author_context", {"username": "nobody"}, "not_found"),
    Step("no username", "author_context", {"username": "a b"}, "validation_error"),
    Step("recommendation", "recommend_action", {"post_id": "1001"}),
    Step("no recommendation", "recommend_action", {"post_id": "1002"}, "recommendation_error"),
    Step("topic", "topic_performance", {"topic": "#tea"}),
    Step("topic without posts", "topic_performance", {"topic": "#milk"}, "topic_error"),
    Step("export", "export_analytics"),
    Step(
        "export of no number", "export_analytics", {}, "serialization_error", lambda world: world.fail(MINE, 200, NAN)
    ),
    Step("first page", "list_posts", {"limit": 2}),
    Step("last page", "list_posts", {"limit": 100, "cursor": "12"}),
    Step("no page", "list_posts", {"limit": 0}, "validation_error"),
    Step("no cursor", "list_posts", {"cursor": "x"}, "invalid_input"),
    Step("delete", "delete_post", {"post_id": "1001"}),
    Step("delete what is not there", "delete_post", {"post_id": "1"}, "not_found"),
]
API = [
    Step("post", "x_post", {"texts": [TWICE]}),
    Step("the same again", "x_post", {"texts": [TWICE]}, "validation_error", after=once(TWICE)),
    Step("ten seconds later", "x_post", {"texts": [TWICE]}, "validation_error", lambda world: world.later(10)),
    Step("thirty seconds later", "x_post", {"texts": [TWICE]}, before=lambda world: world.later(20)),
    Step("no policy", "x_post", {"texts": ["Get rich quick! @a @b @c @d @e @f"]}),
    Step("tool of the other profile", "compose_post", {"texts": ["Hello"]}, "not_found"),
    Step("wrong arguments", "x_post", {"texts": "one"}, "validation_error"),
    Step(
        "thread stops",
        "x_post",
        {"texts": ["t1", "t2", "t3"]},
        "thread_partial_failure",
        lambda world: world.fail(POST, 503, skip=2),
        after=once("t1", "t2"),
    ),
    Step("thread goes on", "resume_thread", {"thread_id": 4}, after=once("t1", "t2", "t3")),
    Step("database locked", "x_post", {"texts": ["d1"]}, "db_error", during=World.locked),
    Step("too late", "x_post", {"texts": ["slow"]}, "x_network_error", lambda world: world.fail(POST, seconds=60)),
    Step("threads", "list_threads", {"state": "open"}),
]
UNCONFIGURED = [
    Step("no token", "delete_post", {"post_id": "1"}, "x_not_configured"),
    Step("no token for reading", "list_posts", {}, "x_not_configured"),
    Step("no model", "write_draft", {"topic": "tea"}, "llm_not_configured"),
]


def problems_of(steps: list[Step], answers: dict[str, Any], profile: str) -> list[str]:
    """Where an answer is not what contract 003 promises of every answer."""
    problems = []
    for step in steps:
        result = answers[step.name]["result"]
        wire = json.loads(result["content"][0]["text"])
        error = wire.get("error")
        keys = ["success", "data", *(["error"] if error else []), "meta"]
        meta = {"tool_version", "elapsed_ms"} | ({"mode", "approval_mode"} if profile == "workflow" else set())
        reason = {"code", "message", "retryable"}
        optional = {"rate_limit_reset", "retry_after_ms", "policy_decision"}
        info = fw.catalogs.Social.codes.get(error["code"]) if error else None
        tool = MANIFEST[profile].get(step.tool)
        wrong = {
            "the code": error["code"] if error else None,
            "keys": list(wire) == keys,
            "one text, pretty": result["content"][0]["text"] == pretty(wire) and len(result["content"]) == 1,
            "the same in structuredContent": result["structuredContent"] == wire,
            "success": wire["success"] is (error is None) and result["isError"] is (error is not None),
            "data": error is None or wire["data"] is None,
            "meta": meta <= wire["meta"].keys() and (profile == "workflow" or "mode" not in wire["meta"]),
            "version": wire["meta"]["tool_version"] == "1.0" and isinstance(wire["meta"]["elapsed_ms"], int),
            "mode": profile == "api"
            or (wire["meta"]["mode"] in ("autopilot", "composer") and isinstance(wire["meta"]["approval_mode"], bool)),
            "error": error is None or (reason <= error.keys() and error.keys() <= reason | optional),
            "retryable": info is None or error["retryable"] is info.retryable,
            "declared": error is None
            or error["code"] in (WRITTEN["common_error_codes"] if tool is None else tool["possible_error_codes"]),
            "policy": error is None or ("policy_decision" in error) is error["code"].startswith("policy_denied"),
        }
        expected: dict[str, object] = {"the code": step.code}
        problems += [
            f"{step.name}: {name}: {wrong[name]}\n    {wire}"
            for name in wrong
            if wrong[name] != expected.get(name, True)
        ]
    return problems


def listed(client: Client, profile: str) -> list[str]:
    """What is wrong with the tools that a profile lists."""
    tools = {tool["name"]: tool for tool in client.ask("tools/list", {}, id="list").value["result"]["tools"]}
    said = MANIFEST[profile]
    problems = [f"{name}: in one list only" for name in said.keys() ^ tools.keys()]
    return problems + [
        f"{name}: {tools[name]}"
        for name in said.keys() & tools.keys()
        if tools[name]["annotations"]["readOnlyHint"] is said[name]["mutation"] or "outputSchema" in tools[name]
    ]


def wrong_with(client: Client, world: World, steps: list[Step], story: str, profile: str = "workflow") -> list[str]:
    """What is wrong with a server's tools, and with its answers to all the steps."""
    answers = told(client, world, steps)
    problems = listed(client, profile) + problems_of(steps, answers, profile)
    counted = Counter(text for text in world.texts() if text != TWICE)
    problems += [f"{text!r} is out {count} times" for text, count in counted.items() if count > 1]
    return problems + compare(f"social-{story}", answers, client.era)


@pytest.mark.checklist(176, 177, 178, 179, 183, 185, 191, 192, 194, 195, 196, 197, 198, 200, 201, 202, 218)
@pytest.mark.parametrize(("transport", "era"), [("stdio", LEGACY), ("http", MODERN)])
def test_the_workflow_profile(world: World, transport: str, era: str) -> None:
    with world.client(transport, era) as client:
        problems = wrong_with(client, world, WORKFLOW, "workflow")
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(176, 177, 178, 179, 183, 187, 189, 191, 192, 193, 200, 202, 218)
@pytest.mark.parametrize(("transport", "era"), [("stdio", MODERN), ("http", LEGACY)])
def test_the_api_profile(world: World, transport: str, era: str) -> None:
    reset = int(time.time()) + 600
    with world.client(transport, era, SOCIAL_PROFILE="api", SOCIAL_TIMEOUT="1") as client:
        problems = wrong_with(client, world, API, "api", "api")
        world.fail(POST, 429, headers={"x-rate-limit-reset": str(reset)})
        error = client.call("x_post", {"texts": ["Hello"]}).value["result"]["structuredContent"]["error"]
    assert not problems, "\n".join(problems)
    assert error["code"] == "x_rate_limited"
    assert error["rate_limit_reset"] == datetime.fromtimestamp(reset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert 0 < error["retry_after_ms"] <= 600_000


@pytest.mark.checklist(194, 201)
def test_what_is_not_configured(world: World) -> None:
    settings = {"SOCIAL_TOKEN": "", "SOCIAL_LLM_KEY": ""}
    composer(world)
    problems: list[str] = []
    with world.server("http", **settings) as process:
        for era in (LEGACY, MODERN):
            with talking(process, era, http=True) as client:
                problems += wrong_with(client, world, UNCONFIGURED, "unconfigured")
    assert not problems, "\n".join(problems)


def sent(era: str, *stories: str) -> list[dict[str, Any]]:
    """The envelopes of the snapshots."""
    told = [SNAPSHOTS.read(f"social-{story}", era) for story in stories]
    return [each["result"]["structuredContent"] for answers in told for each in answers.values()]


STORIES = ["workflow", "api", "unconfigured"]


@pytest.mark.checklist(180, 183, 185)
def test_every_code_of_the_catalogue_has_been_on_the_wire() -> None:
    for era in (LEGACY, MODERN):
        failures = [wire["error"] for wire in sent(era, "workflow", "unconfigured") if not wire["success"]]
        assert {error["code"] for error in failures} == {code.name for code in fw.catalogs.Social}


@pytest.mark.checklist(187, 188, 189)
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("story", STORIES)
def test_what_was_sent_can_be_read(story: str, era: str) -> None:
    for wire in sent(era, story):
        error = fw.parse(wire)
        if wire["success"]:
            assert error is None
            continue
        assert isinstance(error, fw.ToolError)
        assert (error.code, error.retryable, error.notes) == (wire["error"]["code"], wire["error"]["retryable"], ())
        again = json.loads(fw.render(error, "envelope"))
        assert again["error"] == wire["error"]


@pytest.mark.checklist(201)
def test_errors_with_a_text_of_their_own() -> None:
    made = [
        codes.x_not_configured(),
        codes.llm_not_configured(),
        codes.validation_error(text="It is empty."),
        codes.db_error(sqlite3.OperationalError("near 'secret': syntax error")),
    ]
    assert [(error.code, error.message) for error in made] == [
        ("x_not_configured", "There is no token for X."),
        ("llm_not_configured", "No language model is set up."),
        ("validation_error", "The arguments break a rule."),
        ("db_error", "The database did not do what it was asked."),
    ]
    assert "secret" not in fw.render(made[-1], "canonical")
