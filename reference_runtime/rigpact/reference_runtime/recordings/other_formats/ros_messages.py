"""Messages of ROS 2 as data: CDR, after the definition that stands in the bag.

The reader is mcap-ros2-support's: it interprets the definition, and makes no code of it.
"""

import struct
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.other_formats.libraries import library

WITHOUT_COLUMNS = frozenset(f"sensor_msgs/msg/{kind}" for kind in ("Image", "CompressedImage", "PointCloud2"))
"""Types of which a column makes nothing."""
_DAMAGED = (
    ValueError, TypeError, LookupError, EOFError, RecursionError, OverflowError, MemoryError, AttributeError, struct.error,
    NotImplementedError, NameError,
)  # fmt: skip


def decoder_of(kind: str, definition: str, place: str) -> Callable[[bytes, str], Any]:
    """What reads the bytes of a message of a type; UnusableInput for a definition that is none."""
    dynamic, exceptions = library("mcap_ros2._dynamic", place), library("mcap.exceptions", place)
    parser = library("mcap_ros2._vendor.rosidl_adapter.parser", place)
    damaged = (*_DAMAGED, exceptions.McapError, parser.InvalidSpecification)
    try:
        with redirect_stderr(StringIO()), redirect_stdout(StringIO()):  # the parser prints what it cannot read
            read = dynamic.generate_dynamic(kind, definition)[kind]
    except damaged as error:
        raise UnusableInput(place, f"a definition of {kind} that cannot be read ({error})", "ros2msg") from None

    def decode(content: bytes, where: str) -> Any:
        try:
            return plain(read(content))
        except damaged as error:
            raise UnusableInput(
                where, f"bytes that are not {kind} ({type(error).__name__} {error})", "a message"
            ) from None

    return decode


def plain(value: Any) -> Any:
    """A decoded message as tables, lists, numbers and words."""
    names = getattr(type(value), "__slots__", None)
    if names is not None and not isinstance(value, str | bytes):
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, bytes | bytearray | memoryview):
        return list(bytes(value))
    if isinstance(value, int | float | str):
        return value
    return [plain(each) for each in value]
