"""An ordinary server of twenty tools: its author raises what Python raises and thinks no more of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import mcp_types as types
from pydantic import BaseModel, Field

USERS: dict[str, dict[str, Any]] = {"u1": {"name": "Ada", "role": "admin"}, "u2": {"name": "Grace", "role": "user"}}
PROJECTS: dict[str, dict[str, Any]] = {
    "p1": {"title": "Engine", "owner": "u1"},
    "p2": {"title": "Compiler", "owner": "u2"},
}
TASKS: dict[str, dict[str, Any]] = {"t1": {"project": "p1", "title": "Oil it", "done": False}}
UserId = Annotated[str, Field(description="Id of a user", examples=["u1"])]
ProjectId = Annotated[str, Field(description="Id of a project", examples=["p1"])]
TaskId = Annotated[str, Field(description="Id of a task", examples=["t1"])]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most")]


class Filter(BaseModel):
    owner: str | None = None
    tags: list[str] = []
    done: bool = False


def get_user(user_id: UserId) -> dict[str, Any]:
    return USERS[user_id]


def list_users(role: Literal["admin", "user"] = "user", limit: Limit = 10) -> list[str]:
    return [key for key, user in USERS.items() if user["role"] == role][:limit]


def get_project(project_id: ProjectId) -> dict[str, Any]:
    if project_id not in PROJECTS:
        raise ValueError(f"project {project_id} not found")
    return PROJECTS[project_id]


def list_projects(owner: str | None = None, limit: Limit = 10) -> list[str]:
    return [key for key, project in PROJECTS.items() if owner in (None, project["owner"])][:limit]


def get_task(task_id: TaskId) -> dict[str, Any]:
    return TASKS[task_id]


def list_tasks(filter: Filter, limit: Limit = 10) -> list[str]:
    return [key for key, task in TASKS.items() if task["done"] == filter.done][:limit]


def search(query: Annotated[str, Field(min_length=2)], kind: Literal["user", "project", "task"] = "task") -> list[str]:
    return [key for key, task in TASKS.items() if query in task["title"]]


def count_tasks(project_id: ProjectId) -> int:
    if project_id not in PROJECTS:
        raise LookupError(project_id)
    return sum(task["project"] == project_id for task in TASKS.values())


def workload(user_ids: Annotated[list[str], Field(examples=[["u1"]])]) -> dict[str, int]:
    return {user: len(USERS[user]["name"]) for user in user_ids}


def export_project(project_id: ProjectId, format: Literal["csv", "json"] = "json") -> str:
    with open(f"/var/lib/projects/{project_id}.{format}", encoding="utf-8") as file:
        return file.read()


def create_user(name: str, role: Literal["admin", "user"] = "user") -> str:
    if name in {user["name"] for user in USERS.values()}:
        raise ValueError(f"user {name} exists already")
    USERS[f"u{len(USERS) + 1}"] = {"name": name, "role": role}
    return f"u{len(USERS)}"


def rename_user(user_id: UserId, name: str) -> str:
    USERS[user_id]["name"] = name
    return name


def delete_user(user_id: UserId) -> str:
    del USERS[user_id]
    return user_id


def create_project(title: str, owner: UserId) -> str:
    if owner not in USERS:
        raise PermissionError(f"{owner} may not own projects")
    PROJECTS[f"p{len(PROJECTS) + 1}"] = {"title": title, "owner": owner}
    return f"p{len(PROJECTS)}"


def archive_project(project_id: ProjectId) -> str:
    PROJECTS[project_id]["archived"] = True
    return project_id


def create_task(project_id: ProjectId, title: str, days: Annotated[int, Field(ge=1, le=365)] = 7) -> str:
    if project_id not in PROJECTS:
        raise ValueError(f"project {project_id} not found")
    TASKS[f"t{len(TASKS) + 1}"] = {"project": project_id, "title": title, "done": False}
    return f"t{len(TASKS)}"


def finish_task(task_id: TaskId) -> str:
    if TASKS[task_id]["done"]:
        raise RuntimeError("already done")
    TASKS[task_id]["done"] = True
    return task_id


def move_task(task_id: TaskId, project_id: ProjectId) -> str:
    TASKS[task_id]["project"] = PROJECTS[project_id]["title"] and project_id
    return project_id


def assign_task(task_id: TaskId, user_id: UserId) -> str:
    TASKS[task_id]["user"] = USERS[user_id]["name"]
    return user_id


def notify(user_id: UserId, message: str, channel: Literal["mail", "chat"] = "mail") -> str:
    raise TimeoutError(f"{channel} gateway did not answer")


READS = (
    get_user,
    list_users,
    get_project,
    list_projects,
    get_task,
    list_tasks,
    search,
    count_tasks,
    workload,
    export_project,
)
WRITES = (create_user, rename_user, delete_user, create_project, archive_project, create_task, finish_task, move_task, assign_task, notify)  # fmt: skip
_READ = types.ToolAnnotations(read_only_hint=True)
_WRITE = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False)


def mcpserver() -> Any:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("twenty", version="1", log_level="CRITICAL")
    for function in (*READS, *WRITES):
        server.add_tool(function, annotations=_READ if function in READS else _WRITE)
    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP

    server = FastMCP("twenty", version="1")
    for function in (*READS, *WRITES):
        server.tool(function, annotations=_READ if function in READS else _WRITE)
    return server


def lowlevel() -> Any:
    from mcp.server import Server

    functions = {function.__name__: function for function in (*READS, *WRITES)}

    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        tools = await mcpserver().list_tools()
        return types.ListToolsResult(tools=[tool.model_copy(update={"output_schema": None}) for tool in tools])

    async def called(context: Any, params: Any) -> types.CallToolResult:
        value = functions[params.name](**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(text=str(value))])

    return Server("twenty", version="1", on_list_tools=listed, on_call_tool=called)


FRAMEWORKS = {"mcpserver": mcpserver, "lowlevel": lowlevel, "fastmcp": fastmcp}


def server(framework: str, installed: bool) -> Any:
    made = FRAMEWORKS[framework]()
    if installed:
        from failwell.server import install

        install(made)
    return made
