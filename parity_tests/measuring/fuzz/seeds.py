"""Sound files from which the fuzzer starts, small ones, and how a file is put together again after a part of it was changed.

A file with a checksum would be refused at its first changed byte. So a part of it is changed, and the checksum made anew: this is
what somebody does who forges a file.
"""

import gzip
import io
import random
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from .mutations import changed, file_changed

Parts = Mapping[str, bytes]


@dataclass(frozen=True)
class Seed:
    """A sound file. parts: what it is made of, if it is more than its bytes; joined: makes the file of them.

    own: changes that only this format knows.
    """

    name: str
    content: bytes
    parts: Parts | None = None
    joined: Callable[[Parts], bytes] | None = None
    own: Callable[[bytes, random.Random], bytes] | None = None

    def __post_init__(self) -> None:
        """A change of what stands in the file, where the format has one."""
        if self.own is None and (own := file_changed(Path(self.name))) is not None:
            object.__setattr__(self, "own", own)

    def drawn(self, rng: random.Random) -> bytes:
        """The file changed: its bytes, or one of its parts with everything around it sound."""
        if self.own is not None and rng.random() < 0.5:
            return self.own(self.content, rng)
        if self.parts is None or self.joined is None or rng.random() < 0.3:
            return changed(self.content, rng)
        name = rng.choice(sorted(self.parts))
        return self.joined({**self.parts, name: changed(self.parts[name], rng)})


def of_parts(name: str, parts: Parts, joined: Callable[[Parts], bytes]) -> Seed:
    return Seed(name, joined(parts), parts, joined)


def packed(name: str, content: bytes) -> Seed:
    """A text in a compressed file."""

    def to_gz(parts: Parts) -> bytes:
        return gzip.compress(parts["text"], 1, mtime=0)

    def to_zst(parts: Parts) -> bytes:
        return zstandard.compress(parts["text"], 1)

    return of_parts(name, {"text": content}, to_gz if name.endswith(".gz") else to_zst)


def zipped(name: str, content: bytes) -> Seed:
    return of_parts(name, _members(content), _zip)


def tensors(name: str, content: bytes) -> Seed:
    """A safetensors file: its header with the right length, and its numbers."""
    size = int.from_bytes(content[:8], "little")
    parts = {"header": content[8 : 8 + size], "numbers": content[8 + size :]}
    return of_parts(
        name, parts, lambda all_: len(all_["header"]).to_bytes(8, "little") + all_["header"] + all_["numbers"]
    )


def framed(name: str, content: bytes) -> Seed:
    """A binary trace: its header under the right checksum, and its frames."""
    size = int.from_bytes(content[8:12], "little")
    parts = {"header": content[16 : 16 + size], "frames": content[16 + size :]}

    def joined(all_: Parts) -> bytes:
        header = all_["header"]
        seal = len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little")
        return content[:8] + seal + header + all_["frames"]

    return of_parts(name, parts, joined)


_OPERATIONS = (
    "Gather", "Reshape", "Concat", "Slice", "MatMul", "Gemm", "Loop", "If", "Add", "Cast", "Squeeze", "Conv",
    "Nope",
)  # fmt: skip


def rewired(content: bytes, rng: random.Random) -> bytes:
    """A model that is still one: another operation, another input, other sizes."""
    import onnx

    model = onnx.load_model_from_string(content)
    for _ in range(rng.randint(1, 3)):
        node = rng.choice(model.graph.node)  # nodes stay: there always is one
        ends = [*model.graph.input, *model.graph.output]
        kind = rng.randrange(6)
        if kind == 0:
            node.op_type = rng.choice(_OPERATIONS)
        elif kind == 1 and node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(
                [*rng.choice(model.graph.node).output, "", "nothing"]
            )
        elif kind == 2 and ends:
            sizes = rng.choice(ends).type.tensor_type.shape.dim
            for size in list(sizes)[-1:]:
                size.dim_value = rng.choice((0, 1, 2, 7, 1 << 40))
        elif kind == 3 and model.graph.initializer:
            rng.choice(model.graph.initializer).dims.append(rng.choice((0, 1, 2, -1, 1 << 40)))
        elif kind == 4 and ends:
            rng.choice(ends).type.tensor_type.elem_type = rng.choice((1, 7, 8, 9, 10, 11))
        else:
            del rng.choice((model.graph.input, model.graph.initializer, model.graph.output))[:1]
    made: bytes = model.SerializeToString()
    return made


def _members(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def _zip(parts: Parts) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()
