"""What a server says when the service behind it fails, over a real proxy, a real base URL, and real TLS."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

SERVER = Path(__file__).with_name("fetching.py")


def rules(report: CheckReport, tool: str) -> set[str]:
    return {finding.rule for finding in report.findings if finding.tool == tool}


def test_every_fault_of_the_service_behind_a_tool_is_met_and_judged() -> None:
    options = CheckOptions(
        faults=True, base_urls=("BILLING_URL",), allow_writes=True, era="2025-11-25", waits=Waits(start=60, call=30)
    )
    report = check(CheckTarget([sys.executable, str(SERVER), "installed"]), options)
    assert report.examined.notes[-1] == "3 of 3 tools that may be called asked an upstream, and met its faults."
    # It raises what it meets, and Failwell says all that there is to say.
    assert rules(report, "get_invoice") == set()
    # It does not look at what came with 200, and so tells a login page as a payment; what broke off is told truly.
    assert rules(report, "pay") == {"harm.as-success"}
    assert "fwup_9c1f27d40b6e83a5" not in str(report.to_dict())
    if shutil.which("openssl") is None:
        pytest.skip("nobody makes certificates, so that nothing behind TLS was reached")
    # It passes on what it gets, over TLS: errors as successes, with a secret in them.
    passed_on = {"harm.secret", "harm.as-success", "advice.retry-after"}
    assert passed_on <= rules(report, "get_rate")
    assert report.score <= 39
