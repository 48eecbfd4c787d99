"""Messages of ROS 2 as data: CDR, after the definition that stands in the bag, or after one of ROS's own.

The reader is mcap-ros2-support's: it interprets the definition, and makes no code of it.
"""

import struct
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.other_formats.libraries import library

_RULE = "=" * 80
_HEADER = f"{_RULE}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
_TRIPLE = f"{_RULE}\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
_QUATERNION = f"{_RULE}\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
_LAYOUT = (
    f"{_RULE}\nMSG: std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\nuint32 data_offset\n"
    f"{_RULE}\nMSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride\n"
)
OWN_DEFINITIONS = {
    "sensor_msgs/msg/JointState":
        f"std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n{_HEADER}",
    "sensor_msgs/msg/Imu":
        "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
        "geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n"
        f"geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n{_HEADER}{_TRIPLE}{_QUATERNION}",
    "std_msgs/msg/Float32MultiArray": f"MultiArrayLayout layout\nfloat32[] data\n{_LAYOUT}",
    "std_msgs/msg/Float64MultiArray": f"MultiArrayLayout layout\nfloat64[] data\n{_LAYOUT}",
    "std_msgs/msg/Float32": "float32 data\n", "std_msgs/msg/Float64": "float64 data\n", "std_msgs/msg/String": "string data\n",
}  # fmt: skip
"""An old bag holds no definitions."""
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
