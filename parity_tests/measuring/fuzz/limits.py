"""What a fuzzed process may take."""

import tempfile
from pathlib import Path

MOST_BYTES = 1 << 30
"""Of memory in use, for one file of a few kilobytes: a gigabyte. What takes more is counted as a crash."""
MEMORY_BYTES = 6 << 30
"""Of addresses, of which onnxruntime reserves about one gigabyte: what asks for more is a crash."""
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - files of a moment, in a folder of their own


def drawn_files() -> tempfile.TemporaryDirectory[str]:
    """A folder for the drawn files; in memory, where the machine has such a place: millions of files wear a disk."""
    return tempfile.TemporaryDirectory(dir=_MEMORY_DISK if _MEMORY_DISK.is_dir() else None)
