"""The only place that writes files: a temporary name first, then the file's own, so that nobody finds half a file.

Never written over: what is not a regular file (a device would be replaced by a file), and what the running command has read.
"""

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from rigpact.contract.errors import DISK_REFUSES, UnusableInput, disk_refusal
from rigpact.contract.files.reading import is_input, kind_of_place, read_bytes


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its name only if the block succeeds.

    A crash, a full disk or an error leaves the old file as it was.
    """
    target = Path(path)
    refuse_output(target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except (OSError, ValueError) as error:
        raise _not_writable(path, error) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno in DISK_REFUSES:
            raise disk_refusal(path, error) from None
        raise


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file whole: temporary name first, then rename."""
    with written_whole(path) as stream:
        stream.write(content)


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy the bytes of a file."""
    content = b"" if Path(source).stat().st_size == 0 else read_bytes(source)
    write_bytes(target, content)


def copy_folder(source: Path, target: Path) -> Path:
    """Copy every file below a folder; if one cannot be written, none is. Files of other names in the target stay."""
    files = sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    places = {path: target / path.relative_to(source) for path in files}
    for place in places.values():
        _refuse_target(place)
    for folder in {place.parent for place in places.values()}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_writable(folder, error) from None
    with ExitStack() as written:
        for path, place in places.items():
            stream = written.enter_context(written_whole(place))
            stream.write(path.read_bytes())
            stream.flush()  # a full disk shows before the first file takes its name
    return target


def opened_to_append(path: Path) -> IO[bytes]:
    """Open a journal, which grows line by line and is read again; UnusableInput for what is not a regular file.

    One process writes it at a time, until it closes it or ends, however it ends. A file system without locks cannot tell.
    """
    _refuse_target(path)
    try:
        stream = path.open("a+b")
    except OSError as error:
        raise _not_writable(path.parent, error) from None
    try:
        # Lock a file for this process, without waiting
        if sys.platform == "win32":
            import msvcrt

            stream.seek(_FAR)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _LOCKED:
            stream.close()
            hint = "wait for it: finished cells are not measured again; or write to another folder"
            raise UnusableInput(
                path, "a journal that another process is writing", "one process at a time", hint
            ) from None
    return stream


_LOCKED = (errno.EACCES, errno.EAGAIN)


_FAR = (1 << 31) - 2
"""Windows locks bytes, and nobody else reads a locked one: this one lies behind what a journal holds."""


def refuse_output(target: Path) -> None:
    """UnusableInput where no file can be written by that name: no folder, or what an output must not replace."""
    if not target.parent.is_dir():
        raise UnusableInput(target, f"no folder {target.parent}", "a folder that is there")
    if not os.access(target.parent, os.W_OK):
        raise UnusableInput(target, "a folder that cannot be written", "a writable folder")
    _refuse_target(target)


def _refuse_target(target: Path) -> None:
    """UnusableInput for what an output must not replace."""
    try:
        status = target.lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _not_writable(target, error) from None
    if stat.S_ISDIR(status.st_mode):
        raise UnusableInput(target, "a directory", "a file name to write to")
    if not stat.S_ISREG(status.st_mode):
        hint = "an output would take its place, and not go through it: name another file"
        raise UnusableInput(target, kind_of_place(status), "a new or a regular file to write to", hint)
    if is_input(status):
        raise UnusableInput(target, "a file that this command reads", "another file to write to", "it would be lost")


def _not_writable(path: object, error: OSError | ValueError) -> UnusableInput:
    why = error.strerror if isinstance(error, OSError) else error
    return UnusableInput(path, f"a folder that cannot be written ({why})", "a writable folder")
