"""The client of the service: one function for each thing it is asked. What goes wrong is raised as it comes."""

from __future__ import annotations

import os
import secrets
from typing import Any
from urllib.parse import quote

import httpx2

from .service import Service
from .store import Store

Json = dict[str, Any]


class Api:
    """The service at `url`."""

    def __init__(self, url: str, api_key: str, timeout: float) -> None:
        # The service is on this machine, whatever proxies the environment names.
        self._http = httpx2.AsyncClient(base_url=url, headers={"x-api-key": api_key}, timeout=timeout, trust_env=False)

    @classmethod
    def from_environment(cls) -> Api:
        """The service that PATTERNS_API names; without a name, one of our own."""
        timeout = float(os.environ.get("PATTERNS_TIMEOUT", "5"))
        if url := os.environ.get("PATTERNS_API"):
            return cls(url, os.environ.get("PATTERNS_API_KEY", ""), timeout)
        service = Service(Store(os.environ.get("PATTERNS_DB", ":memory:")), secrets.token_hex())
        return cls(service.url, service.api_key, timeout)

    async def search(self, query: str, category: str | None, limit: int) -> Json:
        wanted: Json = {"query": query, "limit": limit} | ({"category": category} if category else {})
        found: Json = _read(await self._http.get("/api/patterns", params=wanted))
        return found

    async def pattern(self, id: str) -> Json | None:
        """The pattern; None if there is none with this id."""
        response = await self._http.get(f"/api/patterns/{quote(id, safe='')}")
        found: Json | None = None if response.status_code == 404 else _read(response)
        return found

    async def suggestions(self, id: str) -> list[Json]:
        """Up to five patterns whose ids are like this one. They are a courtesy: if they fail, there are none."""
        try:
            found: list[Json] = _read(await self._http.get(f"/api/suggestions/{quote(id, safe='')}"))
        except (httpx2.HTTPError, ValueError):
            return []
        return found

    async def rules(self, rule_set: str) -> list[Json]:
        found: list[Json] = _read(await self._http.get(f"/api/rule-sets/{quote(rule_set, safe='')}"))
        return found


def _read(response: httpx2.Response) -> Any:
    return response.raise_for_status().json()
