"""The network: five input vectors by position, one output vector.

Engine: `FFusedEventMotionModel`. Three kinds: an ONNX session, recorded outputs, any callable. The engine silently pads
or cuts a vector of the wrong width (`AlignInputVec`). This module does the same and records every event in
`alignments`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import INPUTS
from rigpact.contract.model.signature import run_binding, run_session
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.network_rounding.bounded_model import BoundedAnswer, BoundedModel
from rigpact.reference_runtime.recordings.clip import TeacherFile, document_to_clip
from rigpact.reference_runtime.recordings.trace import MAX_WIDTH

Vectors = Sequence[FloatArray]


@dataclass(frozen=True, order=True)
class InputAlignment:
    """An input vector that was cut or zero-padded to the bound width. The engine does this silently."""

    position: int
    name: str
    given: int
    bound: int


class Network(Protocol):
    """The network that the loop calls once per frame.

    `bound_widths` are the widths of the five positions, None if every width is accepted.
    """

    name: str
    bound_widths: tuple[int | None, ...]

    def run(self, inputs: Vectors, frame: int) -> FloatArray:
        """Map five (rows, width) float32 matrices, in binding order, to (rows, Dy) float32."""
        ...


class OnnxNetwork:
    """An ONNX model in onnxruntime, on one CPU thread so that the same input gives the same bits."""

    def __init__(self, path: str | Path, contract: Contract) -> None:
        """Load the model and check name, order, width, type and rank of its inputs against the contract.

        Raises UnusableInput if the file is not such a model. A width that differs from the contract's is accepted,
        because the engine accepts it too: see `alignments` of the loop.
        """
        from rigpact.contract.model.signature import open_session, session_signature

        session = open_session(path)
        self.name = Path(path).name
        self.signature = session_signature(session, path)
        _check_inputs(path, self.signature.inputs, contract)
        _check_output(path, self.signature.outputs)
        self._session, self._width = session, character_of(contract).output.width
        self._names = [entry.name for entry in self.signature.inputs]
        self._output = self.signature.outputs[0].name
        self._bound = threading.local()
        self._takes_one_row = any(entry.shape[0] == 1 for entry in self.signature.inputs)
        self.bound_widths = tuple(entry.width for entry in self.signature.inputs)
        self._bounded = BoundedModel(path, lambda inputs: [self.run(inputs, 0)], takes_one_row=self._takes_one_row)

    def bounded(self, inputs: Vectors, moved: Vectors) -> BoundedAnswer:
        """The exact answer to inputs that are known up to `moved`, and the bound of its rounding."""
        return self._bounded.answer(inputs, moved)

    def variants(self) -> Iterator[tuple[str, OnnxNetwork]]:
        """The model with other activations, each with what was changed, in words. They have only `bounded`."""
        for words, bounded in self._bounded.variants():
            other = copy(self)
            other._bounded = bounded
            yield words, other

    def run(self, inputs: Vectors, frame: int) -> FloatArray:
        """Inference of every row, one by one if the export fixed the batch to 1. Output 0 is the answer."""
        if self._takes_one_row and len(inputs[0]) > 1:
            rows = [self.run([vector[row : row + 1] for vector in inputs], frame) for row in range(len(inputs[0]))]
            return np.concatenate(rows)
        kept: dict[Any, _Binding] = self._bound.__dict__
        bound = kept.get(len(inputs[0]))
        if bound is not None and bound.takes(inputs):
            return bound.run(inputs)
        named = dict(zip(self._names, inputs, strict=True))
        output: FloatArray = run_session(self._session, [self._output], named, self.name)[0]
        of_shape(output, (len(inputs[0]), self._width), self.name)
        if len(kept) == _BINDINGS_KEPT:
            kept.clear()
        buffers = {name: np.empty_like(vector) for name, vector in named.items()}
        kept[len(inputs[0])] = _Binding(self._session, buffers, self._output, np.empty_like(output), self.name)
        return output

    def bound_to(self, inputs: Vectors, answer: FloatArray) -> Callable[[], None] | None:
        """An inference that reads and writes these very arrays, again and again; None where the model takes other shapes.

        The caller has seen `run` answer to the same shapes.
        """
        if self._takes_one_row and len(inputs[0]) > 1:
            return None
        named = dict(zip(self._names, inputs, strict=True))
        return _Binding(self._session, named, self._output, answer, self.name).infer


_BINDINGS_KEPT = 4


class _Binding:
    """Buffers that a session reads and writes directly, without copies.

    One thread may use them. The kernels and the bits are the same as in a call with arrays.
    """

    def __init__(
        self, session: Any, inputs: Mapping[str, FloatArray], name: str, output: FloatArray, model: str
    ) -> None:
        """Bind the arrays themselves."""
        self._session, self._binding, self._model = session, session.io_binding(), model
        self._inputs, self._output = list(inputs.values()), output
        self._kinds = [(buffer.shape, buffer.dtype) for buffer in self._inputs]
        for input_name, buffer in zip(inputs, self._inputs, strict=True):
            self._binding.bind_input(input_name, "cpu", 0, buffer.dtype.type, buffer.shape, buffer.ctypes.data)
        shape, address = self._output.shape, self._output.ctypes.data
        self._binding.bind_output(name, "cpu", 0, self._output.dtype.type, shape, address)

    def takes(self, inputs: Vectors) -> bool:
        """Whether the vectors have the bound shapes. Other vectors go to the session, which reports the error."""
        return [(vector.shape, vector.dtype) for vector in inputs] == self._kinds

    def run(self, inputs: Vectors) -> FloatArray:
        """The session's answer, as a new array."""
        for buffer, vector in zip(self._inputs, inputs, strict=True):
            buffer[...] = vector
        self.infer()
        return self._output.copy()

    def infer(self) -> None:
        """The session's answer to what the inputs hold, into the output."""
        run_binding(self._session, self._binding, self._model)


def _check_inputs(path: str | Path, inputs: Sequence[Any], contract: Contract) -> None:
    if len(inputs) != len(INPUTS):
        found = f"{len(inputs)} inputs ({', '.join(entry.name for entry in inputs)})"
        raise UnusableInput(path, found, f"five: {', '.join(INPUTS)}", "the engine binds them by position")
    for entry in inputs:
        if entry.dtype != "float32":
            raise UnusableInput(f"{path}#{entry.name}", entry.dtype, "float32")
        if len(entry.shape) != 2:
            raise UnusableInput(f"{path}#{entry.name}", f"rank {len(entry.shape)}", "rank 2: [1, width]")
        if isinstance(entry.shape[1], int) and entry.shape[1] > MAX_WIDTH:
            raise UnusableInput(f"{path}#{entry.name}", f"{entry.shape[1]} numbers", f"at most {MAX_WIDTH}")
    names = tuple(entry.name.lower() for entry in inputs)
    if set(names) == set(INPUTS) and names != contract.conventions.input_order:
        raise UnusableInput(
            path,
            f"inputs in the order {', '.join(names)}",
            ", ".join(contract.conventions.input_order),
            f"the engine binds by position; if this order is meant, --set input_order={','.join(names)}",
        )


def _check_output(path: str | Path, outputs: Sequence[Any]) -> None:
    if not outputs:
        raise UnusableInput(path, "no output", "at least one: the engine reads output 0")
    if outputs[0].dtype != "float32":
        raise UnusableInput(
            f"{path}#{outputs[0].name}", outputs[0].dtype, "float32", "the engine reads its bytes as such"
        )


class ReplayNetwork:
    """Recorded outputs (T, Dy) in place of a network: frame t answers with row t and ignores its inputs."""

    bound_widths: tuple[int | None, ...] = (None,) * len(INPUTS)

    def __init__(self, outputs: FloatArray, name: str = "replay") -> None:
        """Keep the rows."""
        self.name, self.outputs = name, outputs

    def run(self, inputs: Vectors, frame: int) -> FloatArray:
        """Row `frame` of the recording; UnusableInput beyond its end."""
        if frame >= len(self.outputs):
            raise UnusableInput(self.name, f"{len(self.outputs)} recorded outputs", f"one for frame {frame}")
        return self.outputs[frame : frame + 1]


class CallableNetwork:
    """Any function of five (rows, width) matrices, for tests and for other inference engines."""

    bound_widths: tuple[int | None, ...] = (None,) * len(INPUTS)

    def __init__(self, function: Callable[..., FloatArray], name: str = "callable") -> None:
        """Keep the function; it gets the five matrices as positional arguments."""
        self.name, self._function = name, function

    def run(self, inputs: Vectors, frame: int) -> FloatArray:
        """Call the function."""
        return np.asarray(self._function(*inputs), np.float32)


class CheckedNetwork:
    """A network whose answers have the right shape: UnusableInput for another one.

    one_by_one: rows are the first frames of a run. The network is asked once for each by itself, as an engine does: answers to
    several rows at once are summed in another order.
    """

    def __init__(self, network: Network, width: int, *, one_by_one: bool) -> None:
        """width: of an answer."""
        self._network, self._width, self._one_by_one = network, width, one_by_one
        self._answers: list[FloatArray] = []
        self.name, self.bound_widths = network.name, network.bound_widths

    def run(self, inputs: Vectors, frame: int) -> FloatArray:
        """The answers to rows of inputs; frame: the number of the first."""
        count = len(inputs[0])
        if not self._one_by_one:
            return of_shape(self._network.run(inputs, frame), (count, self._width), self.name)
        for row in range(len(self._answers), count):
            answer = self._network.run([vector[row : row + 1] for vector in inputs], frame + row)
            self._answers.append(of_shape(answer, (1, self._width), self.name))
        return np.concatenate(self._answers[:count])

    def bound_to(self, inputs: Vectors, answer: FloatArray) -> Callable[[], None] | None:
        """As the network's own, where it has one."""
        return self._network.bound_to(inputs, answer) if isinstance(self._network, OnnxNetwork) else None


def read_replay(path: str | Path) -> ReplayNetwork:
    """Recorded network outputs: `y_norm` of a trace or of named columns, or `prediction.y_norm` of a teacher prediction.

    The contract's `output_mode` gives the meaning of the rows (residual, delta, absolute pose); the file does not.
    """
    from rigpact.reference_runtime.recordings.opened import labelled_vectors, open_file

    file = open_file(path)
    if file.is_recording:
        stages = labelled_vectors(file)
        if "y_norm" not in stages:
            raise UnusableInput(f"{path}#/stages", ", ".join(stages), "y_norm, the network's output")
        return ReplayNetwork(stages["y_norm"][0].astype(np.float32), Path(path).name)
    clip = document_to_clip(file.document)
    if not isinstance(clip, TeacherFile) or clip.y_norm is None:
        raise UnusableInput(f"{path}#", "no prediction/y_norm", "a teacher prediction or a trace with y_norm")
    return ReplayNetwork(clip.y_norm, Path(path).name)


def alignments_of(widths: Mapping[str, int], bound_widths: Sequence[int | None]) -> set[InputAlignment]:
    """The vectors, by name in the order of their positions, whose width is not the one that they are bound at."""
    named = zip(widths.items(), bound_widths, strict=True)
    return {
        InputAlignment(position, name, width, bound)
        for position, ((name, width), bound) in enumerate(named)
        if bound is not None and bound != width
    }


def of_shape(answer: FloatArray, expected: tuple[int, ...], name: str) -> FloatArray:
    """The answer of a network of this name; UnusableInput where it has another shape."""
    if answer.shape != expected:
        found, wanted = (" × ".join(map(str, shape)) for shape in (answer.shape, expected))
        raise UnusableInput(name, f"an output of {found} numbers", wanted)
    return answer


def aligned(inputs: Vectors, bound_widths: Sequence[int | None]) -> list[FloatArray]:
    """Cut or zero-pad each (rows, width) matrix to the width it is bound at. Source: engine `AlignInputVec`."""
    return [_aligned(vector, width) for vector, width in zip(inputs, bound_widths, strict=True)]


def _aligned(vector: FloatArray, width: int | None) -> FloatArray:
    if width is None or vector.shape[-1] == width:
        return vector
    bound = np.zeros((*vector.shape[:-1], width), vector.dtype)
    shared = min(width, vector.shape[-1])
    bound[..., :shared] = vector[..., :shared]
    return bound
