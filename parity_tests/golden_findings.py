"""Golden findings: what a rule says today, in a file that review reads. RIGPACT_REGENERATE=1 writes them anew.

The examples of docs/rules.md are made from these files.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))


def check_golden(golden: Path, code: str, findings: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """The findings of a rule, as JSON has them and without the test's own folder, are those of golden/CODE.json."""
    assert findings
    text = json.dumps([dict(each) for each in findings], indent=1, ensure_ascii=False)
    text = text.replace(f"{folder}{os.sep}", "") + "\n"
    path = golden / f"{code}.json"
    missing = not path.is_file()
    if REGENERATE or missing:
        golden.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert REGENERATE or not missing, f"{path} was missing; it is written now: read it"
    assert text == path.read_text(encoding="utf-8")
