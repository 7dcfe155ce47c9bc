"""A coverage-guided hunt for inputs that make `parse` raise, or take more than 100 ms.

    python tools/fuzz.py [SECONDS]          ten minutes unless told otherwise

Starts from the real outputs in tests/data, mutates them where that reaches new code, and stops at the first finding.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["failwell"]):
    import failwell as fw
    from failwell.formats import FORMATS

ROOT = Path(__file__).parent.parent
LIMIT = 0.1


def one_input(data: bytes) -> None:
    """Reads the input as it is, and renders whatever comes out."""
    start = time.perf_counter()
    outcome = fw.parse(data)
    elapsed = time.perf_counter() - start
    if elapsed > LIMIT:
        # Once more, so that a pause of the machine does not count.
        start = time.perf_counter()
        fw.parse(data)
        elapsed = min(elapsed, time.perf_counter() - start)
    if elapsed > LIMIT:
        raise RuntimeError(f"parse took {elapsed * 1000:.0f} ms for {len(data)} bytes")
    if outcome is not None:
        for name in FORMATS:
            fw.render(outcome, name)


def seeds(folder: Path) -> None:
    """The corpus to start from: what real systems sent, and what we would send."""
    texts = set()
    for path in sorted((ROOT / "tests" / "data").glob("*-as-run.json")):
        for vector in json.loads(path.read_text(encoding="utf-8")):
            output = vector["output"]
            texts.add(output if isinstance(output, str) else json.dumps(output))
    error = fw.Invalid("m", fields=[("a", "b")], actions=["c"], retry_after=3, details={"d": 1}, tool="t")
    texts |= {fw.render(error, name, carry=True) for name in FORMATS}
    for number, text in enumerate(sorted(texts)):
        (folder / str(number)).write_bytes(text.encode("utf-8", "replace"))


def main() -> None:
    duration = sys.argv[1] if len(sys.argv) > 1 else "600"
    with tempfile.TemporaryDirectory() as folder:
        seeds(Path(folder))
        options = [f"-max_total_time={duration}", "-max_len=20000", "-timeout=5", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], folder, *options], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
