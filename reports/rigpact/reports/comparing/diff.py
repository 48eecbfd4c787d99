"""`rigpact diff`: two recordings of any system."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import FindingsReport
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reports.checking.check import said_of_inputs
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.comparing.some_bones import compare_recordings


@dataclass(frozen=True)
class DiffRequest:
    """Two recordings. stages: empty for all. table: the file for the table of errors. onnx: the model of both.

    resolution: how finely the numbers of both are written, in words; None where the numbers show it.
    teacher: the clip that both predict, or a teacher batch of it.
    """

    a: Path
    b: Path
    contract: ContractFiles
    stages: Sequence[str] = ()
    table: Path | None = None
    onnx: Path | None = None
    resolution: str | None = None
    teacher: Path | None = None


def diff(request: DiffRequest) -> FindingsReport:
    """Compare any two recordings of one system; without a contract, only published poses are compared."""
    contract = request.contract.opened_if_given()
    first, second = (_recording(path, contract, request.resolution) for path in (request.a, request.b))
    teacher = None if request.teacher is None else _recording(request.teacher, contract)
    if contract is None and request.onnx is not None:
        raise UnusableInput("--onnx", "no --contract beside it", "the bundle of the model")
    network = None if contract is None else network_of(contract, request.onnx)
    comparison = compare_recordings(first, second, contract, only=request.stages, network=network, teacher=teacher)
    if teacher is not None and comparison.baseline is None:
        expected = "two recordings of y_out with the bones of the clip"
        raise UnusableInput("--teacher", "no published pose with a known next one", expected)
    if request.table is not None:
        if comparison.pose is None:
            raise UnusableInput("--table", "a recording without bones", "--format json")
        from rigpact.reports.comparing.error_table import write_error_table  # needs pandas

        write_error_table(comparison, request.table)
    return judge(comparison, said_of_inputs(request.contract, (request.a, request.b, request.teacher)))


def _recording(path: Path, contract: Contract | None, resolution: str | None = None) -> Recording:
    found: Recording = read_recording(path) if contract is None else files_of(contract).recording(path, contract)
    return found.with_resolution(resolution)
