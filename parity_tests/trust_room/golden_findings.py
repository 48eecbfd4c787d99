"""golden/ holds a finding of each rule whose case stands in this room. RIGPACT_REGENERATE=1 writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"


def check_golden(code: str, findings: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """The first finding of a rule, as JSON has it, is the golden one; the example of docs/rules.md is made from it."""
    found = [dict(each) for each in findings if each["code"] == code][:1]
    text = json.dumps(found, indent=1, ensure_ascii=False).replace(f"{folder}{os.sep}", "") + "\n"
    path = GOLDEN / f"{code}.json"
    missing = not path.is_file()
    if missing or os.environ.get("RIGPACT_REGENERATE"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert found
    assert not missing, f"{path} was missing; it is written now: read it"
    assert text == path.read_text(encoding="utf-8")
