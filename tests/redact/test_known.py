"""A secret that is known word for word, in each form that programs write it in."""

from __future__ import annotations

import base64
import html
import json
import re
import string
import time
import urllib.parse
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import failwell as fw
from failwell.redact import DEFAULT, MASK, Guard, forms_of, without_values
from failwell.redact.known import all_forms
from failwell.relay.own_secrets import OwnSecrets, SentSecrets

SECRETS = ("blue kettle & tea", "tea/pot blue&Kettle=9", 'grün "Tee" <3> c\'est', "Kx7pQ2mZ9v-tulip")


WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "quote": urllib.parse.quote,
    "quote all": lambda value: urllib.parse.quote(value, safe=""),
    "quote_plus": urllib.parse.quote_plus,
    "urlencode": lambda value: urllib.parse.urlencode({"q": value}),
    "small escapes": lambda value: re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(value, safe="")),
    "an address in an address": lambda value: urllib.parse.quote(urllib.parse.quote(value, safe=""), safe=""),
    "small escapes in an address": lambda value: urllib.parse.quote(
        re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(value, safe="")), safe=""
    ),
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
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "base32 in small letters": lambda value: base64.b32encode(value.encode()).decode().lower(),
    "base32 without padding": lambda value: base64.b32encode(value.encode()).decode().rstrip("="),
    "base32 of a login": lambda value: base64.b32encode(f"bob:{value}".encode()).decode(),
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


@pytest.mark.parametrize("secret", ["p@ss/word", "P@ss/Word9", "P@ss"])
def test_an_address_in_small_letters_holds_the_secret_as_well(secret: str) -> None:
    quoted = urllib.parse.quote(secret, safe="").lower()
    told = DEFAULT.knowing([secret]).text(f"GET /login?p={quoted}&to=%2fin%3fp%3d{quoted.replace('%', '%25')} refused")
    assert told == f"GET /login?p={MASK}&to=%2fin%3fp%3d{MASK} refused"


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


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("orange", "The orangeade, the oranges and a storangement are sold out; so is Xorange."),
        ("Sunshine", "Sunshines in the ASunshine."),
        ("abc123", "No commit 9fabc1234e5 in xabc123, abc1234."),
        ("4711", "Order 247113 of 14711."),
        ("00000000", "Trace 0000000000000000a1."),
        ("a b c", "Extra  b  c  and a  b  cup."),
    ],
)
def test_what_others_hold_by_chance_is_masked_where_it_stands_alone(secret: str, text: str) -> None:
    masked = Guard().hearing({"password": secret})
    assert masked.text(text) == OwnSecrets.sent([secret]).text(text) == text
    assert masked(fw.Invalid(f"{text} {secret}")).message == f"{text} {MASK}"


ALONE = [
    "'§'", "(§)", "user:§@db", "?token=§&x=1", "x=§;", "a_§_b", "a\n§\nb", "a\\n§\\nb", "a\\u0020§", "a\\x20§", "a%20§%20b", "p%3D§",
    "p%253d§", "p=3D§", "a\x1b[31m§\x1b[0m", "a\\x1b[1;31m§\\x1b[0m", "mysql -u bob -p§ main", "パスワード§が違います", "密码§错误",
]  # fmt: skip


@pytest.mark.parametrize("text", ALONE)
@pytest.mark.parametrize("secret", ["orange", "abc123", "sunshine"])
def test_a_word_stands_alone_wherever_no_word_goes_on(secret: str, text: str) -> None:
    for masked in (OwnSecrets.sent([secret]).text, lambda said: without_values(said, forms_of(secret), MASK)):
        told = masked(text.replace("§", secret))
        assert secret not in told
        assert MASK in told


@pytest.mark.parametrize("secret", ["蓝天白云下的小屋", "蓝天白云"])
def test_a_secret_in_a_script_without_spaces_is_masked_anywhere(secret: str) -> None:
    assert DEFAULT.knowing([secret]).text(f"密码{secret}错误") == f"密码{MASK}错误"


def test_a_plain_word_that_lines_part_is_masked_where_it_stands_alone() -> None:
    masked = OwnSecrets.sent(["sunshine"]).text
    assert masked("not sun\nshine\nhere") == f"not {MASK}\nhere"
    assert masked("the sun\nshines here") == "the sun\nshines here"


def test_an_encoded_word_is_masked_inside_of_what_is_longer() -> None:
    masked = OwnSecrets.sent(["orange", "abc123"]).text
    for secret in (b"orange", b"abc123"):
        for encode in (base64.b64encode, base64.b32encode, bytes.hex):
            code = encode(b"bob:" + secret)
            told = masked(f"Basic {code if isinstance(code, str) else code.decode()} was refused")
            assert re.fullmatch(rf"Basic \w+{re.escape(MASK)}=* was refused", told)


SIGNS = string.ascii_letters + string.digits + "!#$%&()*+,-./:;<=>?@^_`{|}~\"'\\ äß語"
AROUND = st.one_of(st.text(max_size=30), st.text(string.ascii_letters + string.digits, max_size=8))
# Letters of another size make another secret of a short one.
KEPT = [form for form in WRITTEN if form not in ("capitals", "small letters")]


def is_mixed(secret: str) -> bool:
    """Whether it is neither a plain word nor one sign over and over."""
    return (
        secret == secret.strip()
        and len(set(secret)) > 1
        and not (secret.isalpha() and secret.lower()[1:] == secret[1:])
    )


@given(st.text(SIGNS, min_size=8, max_size=40).filter(is_mixed), AROUND, AROUND, st.sampled_from(KEPT), st.booleans())
@example("Kx7pQ2m9", "x", "y", "as it is", False)
@example("!a1\\u00e4x", "0", "\\", "json in json", True)
def test_a_mixed_secret_gets_out_in_no_form_whatever_it_is_glued_to(
    secret: str, before: str, after: str, form: str, is_twice: bool
) -> None:
    written = WRITTEN[form](secret)
    text = before + written + (written if is_twice else "") + after
    guard = Guard().hearing({"password": secret})
    lasting = SentSecrets(lasting=True)
    lasting.learn([secret])
    for told in (
        guard.text(text),
        guard(fw.Invalid("refused", details={"said": text})).details["said"],
        OwnSecrets.sent([secret]).text(text),
        lasting.masked({"said": [text]})["said"][0],
        without_values(text, forms_of(secret), MASK),
    ):
        assert secret not in told
        assert written not in told


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


@pytest.mark.parametrize("kept", [24, 30, 39])
def test_a_known_secret_that_was_cut_is_masked(kept: int) -> None:
    secret = "birch-fern-oak-river-stone-cloud-meadow-4"
    assert Guard().knowing([secret]).text(f"no '{secret[:kept]}…' here") == f"no '{MASK}…' here"
    assert Guard().knowing([secret]).text(f"no {secret[:kept]}") == f"no {MASK}"
    assert secret[:20] in Guard().knowing([secret]).text(f"no {secret[:20]}")
