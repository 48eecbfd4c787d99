"""How large packed bytes are, measured before a library unpacks them: what a container says of them may be a lie."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from typing import Any


def refuses_more(codec: str, data: bytes, most: int) -> bool:
    """Whether bytes unpack to more than `most`, or to several streams; at most so many are unpacked. ValueError if damaged."""
    try:
        return MEASURES[codec](data, most)
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise ValueError(f"{codec}: {error}") from None


def _of(made: Callable[[], Any]) -> Callable[[bytes, int], bool]:
    def measure(data: bytes, most: int) -> bool:
        unpacker = made()
        size = len(unpacker.decompress(data, most + 1))
        return size > most or bool(unpacker.unused_data)

    return measure


def _zstd(data: bytes, most: int) -> bool:
    import zstandard

    try:
        if zstandard.frame_content_size(data) > most:
            return True
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            return len(stream.read(most + 1)) > most
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _said(start: int) -> Callable[[bytes, int], bool]:
    """A codec that unpacks into as many bytes as its own header says, and no more."""
    return lambda data, most: int.from_bytes(data[start : start + 4], "little") > most


MEASURES: Mapping[str, Callable[[bytes, int], bool]] = {
    "zlib": _of(lambda: zlib.decompressobj(47)), "gzip": _of(lambda: zlib.decompressobj(47)),
    "bz2": _of(bz2.BZ2Decompressor), "lzma": _of(lzma.LZMADecompressor), "zstd": _zstd, "lz4": _said(0), "blosc": _said(4),
}  # fmt: skip
"""Codecs that can be measured; 47: a header of zlib or of gzip."""
