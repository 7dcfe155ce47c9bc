"""The three groups."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from fastmcp import FastMCP
from mcp_types import ToolAnnotations
from pydantic import EmailStr, Field

import failwell as fw
import failwell.server
from failwell.server import Group, deprecated, limit, rate

from .store import Row, Store

READS = ToolAnnotations(read_only_hint=True)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)


class Workspace(fw.Catalog):
    """Failures that only a workspace has."""

    ProjectNotFound = fw.Code("not_found", "The project does not exist.")
    InvoiceAlreadyPaid = fw.Code("conflict", "The invoice has been paid already.")
    UserInactive = fw.Code("permission", "The user has been switched off.")


def build(path: str | None = None) -> FastMCP[Any]:
    """The server, with its state at `path`."""
    store = Store(path or os.environ.get("WORKSPACE_DB") or ":memory:")
    server: FastMCP[Any] = FastMCP("workspace", version="1.0")
    for group in (projects(store), billing(store), users(store)):
        group.add_to(server)
    return failwell.server.install(server, format="xml")


def projects(store: Store) -> Group:
    group = Group("projects", description="The projects of the workspace.")

    @group.action("list", annotations=READS)
    @fw.raises(category="projects", mutation=False, requires="db")
    def list_projects(owner: str | None = None) -> list[Row]:
        """List projects, of everybody or of one owner."""
        return store.rows("SELECT * FROM projects WHERE ?1 IS NULL OR owner = ?1 ORDER BY id", owner)

    @group.action(annotations=READS)
    @fw.raises(Workspace.ProjectNotFound, category="projects", mutation=False, requires="db")
    def get(project_id: str) -> Row:
        """Read a project."""
        return find_project(store, project_id)

    @group.action(annotations=CHANGES)
    @fw.raises("MISSING_REQUIRED_FIELD", "CONFLICT", category="projects", mutation=True, requires="db")
    def create(name: Annotated[str, Field(min_length=3, max_length=40)], workspace_id: str | None = None) -> Row:
        """Create a project in a workspace."""
        if workspace_id is None:
            raise fw.required("workspace_id")
        project = {"id": name.lower().replace(" ", "-"), "name": name, "owner": "u_ada"}
        if store.row("SELECT 1 FROM projects WHERE id = ? OR name = ?", project["id"], name):
            raise fw.error(f'A project called "{name}" exists already', code="CONFLICT")
        store.rows("INSERT INTO projects VALUES (?, ?, ?)", *project.values())
        return project

    @group.action(annotations=DESTROYS)
    @fw.raises(Workspace.ProjectNotFound, Workspace.UserInactive, "NOT_FOUND", "FORBIDDEN", requires="db")
    def delete(project_id: str, user_id: str) -> str:
        """Delete a project, if it is yours or you are an admin."""
        done = (
            find_user(store, user_id)
            .then(lambda user: owned(store, project_id, user))
            .then(lambda project: removed(store, project))
        )
        return done.unwrap()

    return group


def billing(store: Store) -> Group:
    group = Group("billing", description="The invoices of the workspace.")

    @group.action(annotations=READS)
    @fw.raises("NOT_FOUND", category="billing", mutation=False, requires="db")
    def get_invoice(invoice_id: str) -> Row:
        """Read an invoice."""
        return find_invoice(store, invoice_id)

    @group.action(annotations=CHANGES)
    @rate(2, seconds=60)
    @fw.raises("NOT_FOUND", "VALIDATION_ERROR", Workspace.InvoiceAlreadyPaid, category="billing", requires="db")
    def pay(invoice_id: str) -> Row:
        """Pay an invoice."""
        invoice = find_invoice(store, invoice_id)
        if not invoice["cents"]:
            raise fw.ToolError("An invoice of nothing cannot be paid.", code="VALIDATION_ERROR")
        if invoice["status"] == "paid":
            raise Workspace.InvoiceAlreadyPaid(
                f"Invoice {invoice_id} has been paid.", details={"invoice": invoice_id, "cents": invoice["cents"]}
            )
        store.rows("UPDATE invoices SET status = 'paid' WHERE id = ?", invoice_id)
        return {**invoice, "status": "paid"}

    @group.action(annotations=READS)
    @limit(concurrency=1)
    @fw.raises("TIMEOUT", category="billing", mutation=False, requires="db")
    def forecast(months: Annotated[int, Field(gt=0)]) -> Row:
        """What the open invoices come to if they come every month. Far ahead it takes long."""
        rows = store.slow_rows(
            0.5,
            "WITH RECURSIVE month(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM month WHERE n < ?)"
            " SELECT sum(cents) AS cents FROM month, invoices WHERE status = 'open'",
            months,
        )
        return rows[0]

    @group.action(annotations=READS)
    @fw.raises("NOT_FOUND", category="billing", mutation=False, requires="db")
    def print_invoice(invoice_id: str) -> str:
        """An invoice as a line of text."""
        invoice = find_invoice(store, invoice_id)
        return f"{invoice['id']}: {invoice['cents'] / 100:.2f} EUR"

    @group.action("invoices", annotations=READS)
    @deprecated("This action is deprecated. Use get_invoice instead.", actions=["billing.get_invoice"])
    @fw.raises(category="billing", mutation=False, requires="db")
    def invoices() -> list[Row]:
        """List all invoices. Deprecated."""
        return store.rows("SELECT * FROM invoices ORDER BY id")

    return group


def users(store: Store) -> Group:
    group = Group("users", description="The people of the workspace.")

    @group.action(annotations=CHANGES)
    @fw.raises("CONFLICT", category="users", mutation=True, requires="db")
    def create(email: EmailStr, role: Literal["admin", "user"] = "user") -> Row:
        """Invite somebody."""
        user = {"id": f"u_{email.partition('@')[0]}", "email": email, "role": role}
        if store.row("SELECT 1 FROM users WHERE email = ?", email):
            raise fw.Conflict(
                f"{email} is in the workspace already.",
                suggestion="Call users with action 'list' to see who is.",
                actions=[{"tool": "users", "arguments": {"action": "list"}}],
            )
        store.rows("INSERT INTO users VALUES (?, ?, ?, 1)", *user.values())
        return user

    @group.action(annotations=READS)
    @fw.raises("UNAUTHORIZED", category="users", mutation=False, requires="db")
    def me(token: str | None = None) -> Row:
        """Who you are, by the token you were given."""
        user = store.row("SELECT id, email, role FROM users WHERE 'tok_' || id = ?", token)
        if user is None:
            raise fw.ToolError(
                "The token is missing or wrong.", code="UNAUTHORIZED", suggestion="Ask the user for one."
            )
        return user

    @group.action("list", annotations=READS)
    @fw.raises(category="users", mutation=False, requires="db")
    def list_users() -> list[Row]:
        """List everybody."""
        return store.rows("SELECT id, email, role FROM users ORDER BY id")

    return group


# The steps of a pipeline: each gives a value to go on with, or the failure that ends it.


def find_user(store: Store, user_id: str) -> fw.Result[Row]:
    user = store.row("SELECT * FROM users WHERE id = ?", user_id)
    if user is None:
        return fw.Err(fw.error(f'User "{user_id}" not found', code="NOT_FOUND"))
    if not user["active"]:
        return fw.Err(
            Workspace.UserInactive(f"User {user_id} is switched off.", severity="critical", details={"user": user_id})
        )
    return fw.Ok(user)


def owned(store: Store, project_id: str, user: Row) -> fw.Result[Row]:
    project = find_project(store, project_id)
    if user["role"] != "admin" and project["owner"] != user["id"]:
        return fw.Err(fw.Denied(f'User "{user["id"]}" cannot delete {project_id}.'))
    return fw.Ok(project)


def removed(store: Store, project: Row) -> fw.Result[str]:
    store.rows("DELETE FROM projects WHERE id = ?", project["id"])
    return fw.Ok(f"Deleted {project['id']}")


def find_project(store: Store, project_id: str) -> Row:
    project = store.row("SELECT * FROM projects WHERE id = ?", project_id)
    if project is None:
        raise Workspace.ProjectNotFound(
            f"Project '{project_id}' does not exist.",
            suggestion="Call projects.list first to get valid IDs, then retry.",
            actions=["projects.list"],
            details={"known": ", ".join(store.ids("projects"))},
        )
    return project


def find_invoice(store: Store, invoice_id: str) -> Row:
    invoice = store.row("SELECT * FROM invoices WHERE id = ?", invoice_id)
    if invoice is None:
        raise fw.NotFound("Invoice not found.", details={"entity_id": invoice_id, "entity_type": "invoice"})
    return invoice
