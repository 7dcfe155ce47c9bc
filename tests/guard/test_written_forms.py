"""A secret that is known word for word, in each form that programs write it in."""

from __future__ import annotations

import base64
import html
import json
import re
import time
import urllib.parse
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

import httpx2
import pytest

import failwell as fw
from failwell.guards import DEFAULT, MASK, Guard, forms_of
from failwell.guards.secrets.written_forms import all_forms
from failwell.relay.own_secrets import OwnSecrets

SECRETS = ("blue kettle & tea", "tea/pot blue&Kettle=9", 'grün "Tee" <3> c\'est', "Kx7pQ2mZ9v-tulip")


WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "quote": urllib.parse.quote,
    "quote all": lambda value: urllib.parse.quote(value, safe=""),
    "quote_plus": urllib.parse.quote_plus,
    "urlencode": lambda value: urllib.parse.urlencode({"q": value}),
    "small escapes": lambda value: re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(value, safe="")),
    "an address in an address": lambda value: urllib.parse.quote(urllib.parse.quote(value, safe=""), safe=""),
    "query of httpx": lambda value: str(httpx2.URL("http://h/p", params={"q": value})),
    "html": html.escape,
    "xml": escape,
    "attribute": lambda value: quoteattr(value, {'"': "&quot;"}),
    "json": json.dumps,
    "json with slashes": lambda value: json.dumps(value).replace("/", "\\/"),
    "json in json": lambda value: json.dumps(json.dumps({"a": value})),
    "code": repr,
    "bytes": lambda value: repr(value.encode()),
    "capitals": str.upper,
    "small letters": str.lower,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for addresses": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64 without padding": lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
    "base64 of a login": lambda value: base64.b64encode(f"bob:{value}".encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "hex in capitals": lambda value: value.encode().hex(":").upper(),
}


def pieces_of(written: str) -> set[str]:
    """What of a form would tell it: whatever is left of it that is long enough to be more than chance."""
    return {written[at : at + 9] for at in range(len(written) - 8)}


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_known_secret_is_masked_however_it_is_written(secret: str, form: str) -> None:
    assert_masked(DEFAULT.knowing([secret]).text, WRITTEN[form], secret)


@pytest.mark.parametrize("form", WRITTEN)
def test_the_relay_masks_its_own_in_the_same_forms(form: str) -> None:
    assert_masked(OwnSecrets(["tea/pot blue&Kettle=9"]).text, WRITTEN[form], "tea/pot blue&Kettle=9")


def assert_masked(masked: Callable[[str], str], write: Callable[[str], str], secret: str) -> None:
    written = write(secret)
    told = masked(f"The bank refused {written} of yours.")
    assert MASK in told
    assert told.startswith("The bank refused ")
    assert told.endswith(" of yours.")
    # What stands around the value, such as the name in a query, may stay; of a login the name may.
    around = pieces_of(write("Q" * 40)) | {written[:9]}
    assert not (pieces_of(written) - around) & pieces_of(told)


def test_what_a_call_sent_as_a_secret_is_masked_in_the_forms_of_addresses() -> None:
    guard = Guard().hearing({"password": "blue kettle & tea", "user": "bob"})
    error = guard(
        fw.Invalid("GET /login?q=blue+kettle+%26+tea&user=bob", details={"seen": "blue%20kettle%20%26%20tea"})
    )
    assert (error.message, error.details["seen"]) == (f"GET /login?q={MASK}&user=bob", MASK)


def test_values_of_a_guard_of_ones_own_have_the_same_forms() -> None:
    assert (
        Guard.make(values=["blue kettle & tea"]).redact.values == DEFAULT.knowing(["blue kettle & tea"]).redact.values
    )


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("teapot", "The TEAPOT, the Teapot and tea pot stay."),
        ("production-cluster", "Production-Cluster is a name."),
        ("blue kettle & tea", "The blue kettle is no tea; BLUE tea & kettle are not either."),
        ("1234", "31 32 33 and 0x123 are numbers."),
    ],
)
def test_ordinary_words_stay_beside_a_known_secret(secret: str, text: str) -> None:
    assert DEFAULT.knowing([secret]).text(text) == text


def test_a_form_is_never_shorter_than_its_value_and_not_written_again() -> None:
    for secret in SECRETS:
        forms = forms_of(secret)
        assert forms[0] == secret
        assert min(map(len, forms)) == len(secret)
        assert set(all_forms([*forms, secret])) == set(forms)


def test_many_and_endless_secrets_do_not_stall() -> None:
    started = time.perf_counter()
    many = DEFAULT.knowing([f"blue kettle & tea {number}" for number in range(2_000)])
    assert many.text("It was blue kettle & tea 1999.") == f"It was {MASK}."
    endless = DEFAULT.knowing(["a b/" * 2_500])
    for text in ("a b/" * 2_499, "61 20 62 2f " * 1_000, "%61" * 4_000, "\\" * 12_000, "&amp" * 3_000):
        endless.text(text)
    assert time.perf_counter() - started < 10
