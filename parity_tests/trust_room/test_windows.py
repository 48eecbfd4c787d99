"""Files and consoles of Windows

Emulated here: files as an editor on Windows saves them, and the encodings of its consoles.
"""

import os
import subprocess
import sys
from typing import Any

from .tried import passes


@passes("the console cannot show Δ, ° or ·: code page 1252, and ASCII", "the same answer, `?` for the sign")
def test_a_console_that_lacks_a_sign_changes_no_answer(command: Any) -> None:
    """An answer that dies of its own Δ is a red build with no reason."""
    words = ("show", "enemy_animation")
    expected = command(*words)
    assert (expected.status, "ΔR" in expected.out) == (0, True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUTF8"}
    for encoding in ("cp1252", "ascii"):
        done = subprocess.run(
            [sys.executable, "-m", "rigpact.reports", *words],
            env={**environment, "PYTHONIOENCODING": encoding}, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == expected.status, done.stderr
        shown = done.stdout.decode(encoding).replace("\r\n", "\n")
        assert shown == expected.out.encode(encoding, "replace").decode(encoding)
