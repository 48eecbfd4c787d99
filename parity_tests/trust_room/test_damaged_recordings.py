"""Damaged recordings.

Two parsers read a damaged text differently, so it is refused. Only a recording that was cut off is read up to its last frame.
"""

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import read_trace, write_trace

from .recorded_demo import CONTRACT, project, recorded
from .tried import passes, refused

Command = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound project; commands run in it."""
    monkeypatch.chdir(project(tmp_path / "game"))
    for name in ("right.trace.jsonl", "right.trace.jsonl.gz", "right.trace.jsonl.zst", "right.trace.safetensors"):
        write_trace(recorded(), name)
    return tmp_path / "game"


def with_key_twice(content: bytes) -> bytes:
    return content.replace(b'"frame":7,', b'"frame":7,"frame":7,', 1)


def with_stage_twice(content: bytes) -> bytes:
    head, _, rest = content.partition(b'{"frame":9')
    return head + b'{"frame":9' + rest.replace(b'"quat":', b'"quat":[],"quat":', 1)


def with_header_key_twice(content: bytes) -> bytes:
    return content.replace(b'"fps":60.0', b'"fps":30.0,"fps":60.0', 1)


def crc_failing(content: bytes) -> bytes:
    return content[:-8] + struct.pack("<I", struct.unpack("<I", content[-8:-4])[0] ^ 1) + content[-4:]


def one_byte_changed(content: bytes) -> bytes:
    """In a zstd file with a checksum."""
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(gzip.decompress(gzip.compress(content)))
    return packed[:-1] + bytes([packed[-1] ^ 1])


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a key twice in a frame": ("right.trace.jsonl", with_key_twice),
    "a stage twice in a frame": ("right.trace.jsonl", with_stage_twice),
    "a key twice in the header": ("right.trace.jsonl", with_header_key_twice),
    "zeros after the last line": ("right.trace.jsonl", lambda content: content + b"\0" * 64),
    "text after the last frame": ("right.trace.jsonl", lambda content: content[:-1] + b" end"),
    "bytes after a gz stream": ("right.trace.jsonl.gz", lambda content: content + b"abc"),
    "a gz checksum that fails": ("right.trace.jsonl.gz", crc_failing),
    "bytes after a zst frame": ("right.trace.jsonl.zst", lambda content: content + b"abc"),
    "bytes after the tensors": ("right.trace.safetensors", lambda content: content + b"abc"),
    "a key twice in the tensors' header": (
        "right.trace.safetensors",
        lambda content: tensors_header(content, lambda text: text.replace('"frame":', '"frame":null,"frame":', 1)),
    ),
    "a hole between tensors": (
        "right.trace.safetensors",
        lambda content: tensors_header(content + b"\0" * 8, lambda text: text),
    ),
}


def tensors_header(content: bytes, edit: Callable[[str], str]) -> bytes:
    size = struct.unpack("<Q", content[:8])[0]
    text = edit(content[8 : 8 + size].decode()).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


@pytest.mark.sampled(3)
@refused(
    "damaged recordings: keys that stand twice, bytes after the end, a failing checksum, tensors that the library refuses",
    "every command: exit 2, the place",
)
@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_an_error(folder: Path, command: Command, what: str) -> None:
    """With a warning alone, the numbers that one parser happens to read pass as the engine's."""
    name, damage = DAMAGES[what]
    content = (folder / name).read_bytes()
    damaged = damage(content)
    assert damaged != content
    (folder / f"damaged.{name}").write_bytes(damaged)

    answer = command("diff", "right.trace.jsonl", f"damaged.{name}", *CONTRACT)

    assert (answer.status, answer.out) == (2, "")
    assert name in answer.err


@refused("one changed byte in a zst recording with a checksum", "every command: exit 2")
def test_a_failing_zst_checksum_is_an_error(folder: Path) -> None:
    """The disk says that it lost something; the numbers are then anybody's."""
    path = folder / "z.trace.jsonl.zst"
    path.write_bytes(one_byte_changed((folder / "right.trace.jsonl").read_bytes()))

    with pytest.raises(UnusableInput, match="damaged data"):
        read_trace(path)


@refused(
    "a recording that a crash cut off in the middle of a line", "`diff`: error RP803, with RP808 that it was cut off"
)
def test_a_cut_is_read_up_to_the_last_frame(folder: Path, command: Command) -> None:
    """What the engine did before the crash is the interesting part; it must neither be lost nor pass as a whole run."""
    content = (folder / "right.trace.jsonl").read_bytes()
    (folder / "cut.trace.jsonl").write_bytes(content[: len(content) - 500])

    answer = command("diff", "right.trace.jsonl", "cut.trace.jsonl", *CONTRACT, "--format", "json")

    assert answer.status == 1
    assert {finding["code"] for finding in json.loads(answer.out)["findings"]} == {"RP803", "RP808"}


@passes("a byte order mark before the header, Windows line ends, empty lines, keys with a space before the colon")
def test_text_as_windows_writes_it_is_no_damage(folder: Path, command: Command) -> None:
    """A text editor saved it; every number is still there."""
    text = (folder / "right.trace.jsonl").read_text(encoding="utf-8").replace('"frame":', '"frame" : ')
    (folder / "windows.trace.jsonl").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n\r\n").encode())

    answer = command("diff", "right.trace.jsonl", "windows.trace.jsonl", *CONTRACT, "--strict", "--format", "json")

    assert (answer.status, json.loads(answer.out)["findings"]) == (0, [])
