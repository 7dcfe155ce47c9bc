"""Secrets that look real and are none, each planted in one place only: where one turns up says where it came from.

They are drawn at run time, so that no file of the repository holds anything that looks like a key.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from urllib.parse import unquote

SEED: Final = os.environ.get("FAILWELL_CANARIES", "1")
_ALNUM: Final = string.ascii_letters + string.digits
# So many characters of a secret in a row are a leak: nothing else has them.
_WINDOW: Final = 8
_RUN: Final = re.compile(r"[A-Za-z0-9+/!*_-]{8,}")


@dataclass(frozen=True)
class Canary:
    """One secret: `value` is what a variable of that `name` holds, `text` a sentence with it as programs write them."""

    case: str
    shape: str
    name: str
    value: str
    text: str
    random: tuple[str, ...]
    named: dict[str, str] = field(default_factory=dict)


SHAPES: Final = ("api_key", "bearer", "dsn", "jwt", "aws", "private_key", "password")
# Those that are recognised wherever they stand; an opaque value is a secret only by its name.
SHAPED: Final = ("api_key", "dsn", "jwt", "private_key")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@cache
def canary(case: str, shape: str) -> Canary:
    draw = random.Random(f"{SEED}/{case}/{shape}")

    def some(count: int, alphabet: str = _ALNUM) -> str:
        # Letters in both cases and digits, as generators of secrets see to it.
        return "".join([*draw.choices(alphabet, k=count - 3), "q", "7", "W"])

    if shape == "api_key":
        core = some(40)
        value = f"sk-proj-{core}"
        return Canary(case, shape, "OPENAI_API_KEY", value, f"Incorrect API key provided: {value}.", (core,))
    if shape == "bearer":
        value = some(43, _ALNUM + "-_")
        text = f"GET /v1 failed with headers {{'Accept': '*/*', 'Authorization': 'Bearer {value}'}}"
        return Canary(case, shape, "access_token", value, text, (value,))
    if shape == "dsn":
        core = some(20, _ALNUM + "!*-_")
        value = f"postgresql://app:{core}@db.internal:5432/prod"
        return Canary(case, shape, "DATABASE_URL", value, f'connection to "{value}" failed: timeout expired', (core,))
    if shape == "jwt":
        head = _base64(b'{"alg":"HS256","typ":"JWT"}')
        body = _base64(json.dumps({"sub": some(24), "exp": 1893456000}).encode())
        sign = _base64(draw.randbytes(32))
        value = f"{head}.{body}.{sign}"
        return Canary(case, shape, "id_token", value, f"Signature has expired: {value}", (body[12:40], sign))
    if shape == "aws":
        key, value = f"AKIA{some(16, string.ascii_uppercase + '234567').upper()}", some(40, _ALNUM + "+/")
        text = f"SignatureDoesNotMatch: aws_access_key_id={key} aws_secret_access_key={value}"
        named = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": value}
        return Canary(case, shape, "AWS_SECRET_ACCESS_KEY", value, text, (key[4:], value), named)
    if shape == "private_key":
        lines = [some(64, _ALNUM + "+/") for _ in range(4)]
        value = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
        return Canary(case, shape, "SIGNING_KEY", value, f"Could not deserialize key data:\n{value}", tuple(lines))
    assert shape == "password"
    value = some(18, _ALNUM + "!*_")
    return Canary(case, shape, "DB_PASSWORD", value, f"login failed: user=app password={value} host=db", (value,))


def as_named(planted: Canary) -> dict[str, str]:
    """The secret under its own name, as environments, settings and details hold it."""
    return planted.named or {planted.name: planted.value}


def found(text: str, planted: Iterable[Canary]) -> dict[tuple[str, str], str]:
    """Which secrets, or pieces of them, are in `text`, each with the place it was found in.

    However it was written: across lines, in the boxes of a pretty log, escaped, or percent-encoded.
    """
    windows = {
        part[start : start + _WINDOW]: (each.case, each.shape)
        for each in planted
        for part in each.random
        for start in range(len(part) - _WINDOW + 1)
    }
    leaks: dict[tuple[str, str], str] = {}
    joined = re.sub(r"\\+[nrt]|\\|[\s│]", "", text)
    for written in dict.fromkeys((text, joined, unquote(joined))):
        for run in set(_RUN.findall(written)):
            starts = range(len(run) - _WINDOW + 1)
            # Mostly there is nothing, in megabytes of text.
            if windows.keys().isdisjoint(run[start : start + _WINDOW] for start in starts):
                continue
            for start in starts:
                where = windows.get(run[start : start + _WINDOW])
                if where is not None and where not in leaks:
                    at = written.index(run)
                    leaks[where] = written[max(0, at - 160) : at + start + 80]
    return leaks
