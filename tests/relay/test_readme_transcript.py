"""The transcript in the README is what `failwell wrap` really does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
SHOP = """
import json, os, sys

paid = os.path.exists("paid")
schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
tools = [
    {"name": "pay_invoice", "inputSchema": schema, "annotations": {"readOnlyHint": False}},
    {"name": "get_invoice", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
]
for line in sys.stdin:
    message = json.loads(line)
    result = {"tools": tools}
    if message["method"] == "tools/call":
        if message["params"]["name"] == "pay_invoice":
            open("paid", "w").close()
            os._exit(7)
        result = {"content": [{"type": "text", "text": "paid" if paid else "open"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_the_transcript_is_true(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP, "utf-8")
    tools = ("pay_invoice", "get_invoice")
    calls = [
        {"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": {"name": tool, "arguments": {"id": "inv_1"}}}
        for tool in tools
    ]
    command = [sys.executable, "-m", "failwell", "wrap", "--", sys.executable, "-S", "shop.py"]
    relay = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert relay.stdin is not None
    assert relay.stdout is not None
    told = []
    for call in calls:
        relay.stdin.write(json.dumps(call).encode() + b"\n")
        relay.stdin.flush()
        answer = json.loads(relay.stdout.readline())
        text = answer["result"]["content"][0]["text"].removeprefix("Error: ")
        told.append(f"{answer['id']}  {text}")
    relay.communicate(timeout=60)
    page = re.search(r"```text\n(pay_invoice  .*?)```", README.read_text("utf-8"), re.DOTALL)
    assert page is not None
    assert "\n".join(told) == page[1].strip()
