"""The server that the official conformance suite asks for by the names of its tools: bare, or with `install`.

python tools/suite_server.py [--port N] [--install]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

server: Any = MCPServer("suite", log_level="CRITICAL")


def tool(function: Any) -> Any:
    return server.tool(description=f"What {function.__name__} is called.")(function)


def prompt(function: Any) -> Any:
    return server.prompt(description=f"What {function.__name__} is called.")(function)


@tool
def test_simple_text() -> str:
    return "This is a simple text response for testing."


@tool
def test_image_content() -> list[ImageContent]:
    return [ImageContent(type="image", data=PIXEL, mime_type="image/png")]


@tool
def test_audio_content() -> list[AudioContent]:
    return [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")]


def embedded(uri: str, text: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=text))


@tool
def test_embedded_resource() -> list[EmbeddedResource]:
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@tool
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    return [
        TextContent(type="text", text="Multiple content types test:"),
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ]


@tool
async def test_tool_with_logging(ctx: Context) -> str:
    for word in ("started", "processing", "completed"):
        await ctx.info(f"Tool execution {word}")
        await asyncio.sleep(0.02)
    return "Tool with logging executed successfully"


@tool
async def test_logging_tool(ctx: Context) -> str:
    for level in ("debug", "info", "warning", "error"):
        await ctx.log(level, f"a line of {level}")
    return "logged"


@tool
async def test_tool_with_progress(ctx: Context) -> str:
    for step in (0, 50, 100):
        await ctx.report_progress(step, 100, f"Completed step {step} of 100")
        await asyncio.sleep(0.02)
    return "done"


@tool
def test_error_handling() -> str:
    raise ToolError("This tool intentionally returns an error for testing")


@tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    said = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    answer = await ctx.session.create_message(
        messages=[said], max_tokens=100, related_request_id=ctx.request_id
    )  # fmt: skip
    return f"LLM response: {getattr(answer.content, 'text', '')}"


class Said(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


async def asked(ctx: Context, message: str, schema: Any) -> str:
    answer = await ctx.elicit(message, schema)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"User response: action={answer.action}, content={content}"


@tool
async def test_elicitation(message: str, ctx: Context) -> str:
    return await asked(ctx, message, Said)


@tool
async def test_streaming_elicitation(ctx: Context) -> Any:
    if ctx.input_responses:
        return "answered"
    await ctx.report_progress(1, 2)
    return questions(form("confirm", "Go on?"))


class Defaults(BaseModel):
    name: str = Field(default="John Doe")
    age: int = Field(default=30)
    score: float = Field(default=95.5)
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = Field(default=True)


@tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    return await asked(ctx, "Please provide user information", Defaults)


TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)]


class Enums(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": ["option1", "option2", "option3"]})
    titledSingle: str = Field(json_schema_extra={"oneOf": TITLED})
    untitledMulti: list[str] = Field(
        json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2", "option3"]}}
    )
    titledMulti: list[str] = Field(json_schema_extra={"items": {"anyOf": TITLED}})
    legacyEnum: str = Field(
        json_schema_extra={"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    )


@tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    return await asked(ctx, "Please select options", Enums)


@tool
def test_custom_headers(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    priority: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Priority"})] = 1,
    verbose: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Verbose"})] = False,
) -> str:
    return f"{region} {priority} {verbose}"


def form(name: str, message: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {name: ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))}


def sampled(name: str) -> dict[str, Any]:
    said = SamplingMessage(role="user", content=TextContent(type="text", text="What is the capital of France?"))
    return {name: CreateMessageRequest(params=CreateMessageRequestParams(messages=[said], max_tokens=100))}


def questions(*asked: dict[str, Any], state: str | None = None) -> InputRequiredResult:
    return InputRequiredResult(
        input_requests={name: each for some in asked for name, each in some.items()} or None, request_state=state
    )


@tool
async def test_input_required_result_elicitation(ctx: Context) -> Any:
    if not ctx.input_responses or "user_name" not in ctx.input_responses:
        return questions(form("user_name", "What is your name?"))
    return f"Hello, {answered(ctx, 'user_name')}!"


def answered(ctx: Context, name: str) -> str:
    held = (ctx.input_responses or {}).get(name)
    plain = held.model_dump(by_alias=True) if isinstance(held, BaseModel) else held
    return json.dumps(plain)


@tool
async def test_input_required_result_sampling(ctx: Context) -> Any:
    if not ctx.input_responses:
        return questions(sampled("capital_question"))
    return answered(ctx, "capital_question")


@tool
async def test_input_required_result_list_roots(ctx: Context) -> Any:
    if not ctx.input_responses:
        return questions({"client_roots": ListRootsRequest()})
    return answered(ctx, "client_roots")


@tool
async def test_input_required_result_request_state(ctx: Context) -> Any:
    if not ctx.input_responses:
        return questions(form("confirm", "Please confirm"), state="state-1")
    return "state-ok" if ctx.request_state == "state-1" else "state-bad"


@tool
async def test_input_required_result_tampered_state(ctx: Context) -> Any:
    return await test_input_required_result_request_state(ctx)


@tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> Any:
    if not ctx.input_responses:
        roots = {"client_roots": ListRootsRequest()}
        return questions(form("user_name", "What is your name?"), sampled("greeting"), roots, state="all")
    return "all of them"


@tool
async def test_input_required_result_multi_round(ctx: Context) -> Any:
    if ctx.request_state is None:
        return questions(form("step1", "Step 1: What is your name?"), state="round-1")
    if ctx.request_state == "round-1":
        return questions(form("step2", "Step 2: What is your favorite color?"), state="round-2")
    return "both rounds are over"


@tool
async def test_input_required_result_capabilities(ctx: Context) -> Any:
    if ctx.input_responses:
        return "done"
    able = ctx.client_capabilities
    asked = [] if able is None or able.elicitation is None else [form("user_name", "What is your name?")]
    asked += [] if able is None or able.sampling is None else [sampled("greeting")]
    return questions(*asked) if asked else "nothing to ask with"


@tool
async def test_missing_capability(ctx: Context) -> str:
    able = ctx.client_capabilities
    if able is None or able.sampling is None:
        raise MCPError(-32021, "The client cannot sample.", {"requiredCapabilities": {"sampling": {}}})
    return "sampled"


@tool
async def test_trigger_tool_change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    return "changed"


@tool
async def test_trigger_prompt_change(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    return "changed"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return base64.b64decode(PIXEL)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.resource("test://watched-resource")
def watched() -> str:
    return "Watched resource content"


@prompt
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    return [UserMessage(content=embedded(resourceUri, "Embedded resource content for testing."))]


@prompt
def test_prompt_with_image() -> list[UserMessage]:
    return [UserMessage(content=ImageContent(type="image", data=PIXEL, mime_type="image/png"))]


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    return Completion(values=["paris", "park", "party"], total=3, has_more=False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--install", action="store_true")
    given = parser.parse_args()
    if given.install:
        from failwell.server import install

        install(server)
    if given.port is None:
        server.run()
    else:
        server.run("streamable-http", port=given.port)


if __name__ == "__main__":
    main()
