"""Fixtures with the files from pytest's command line, for users' own tests.

Each fixture skips and names the missing option if its file was not given. The plugin imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rigpact.contract.systems.contract import Contract
    from rigpact.reference_runtime.files.runner import Runner
    from rigpact.reference_runtime.recordings.trace import Trace
    from rigpact.testing.files import UserFiles


@pytest.fixture(scope="session")
def rigpact_files(pytestconfig: pytest.Config) -> UserFiles:
    """The user's files; each is read once."""
    from rigpact.testing.files import Paths, files_of

    option = pytestconfig.option
    if option.rigpact_bundle is None:
        pytest.skip("no --rigpact-bundle")
    single: dict[str, Any] = {
        name: None if value is None else Path(value)
        for name in ("companion", "onnx", "config", "conventions")
        for value in [getattr(option, f"rigpact_{name}")]
    }
    clips, traces = (tuple(map(Path, paths)) for paths in (option.rigpact_clip, option.rigpact_trace))
    return files_of(
        Paths(Path(option.rigpact_bundle), clips=clips, traces=traces, settings=tuple(option.rigpact_set), **single)
    )


@pytest.fixture(scope="session")
def rigpact_contract(rigpact_files: UserFiles) -> Contract:
    """The contract that `--rigpact-bundle` and the conventions beside it declare."""
    contract: Contract = rigpact_files.contract
    return contract


@pytest.fixture(scope="session")
def rigpact_network(rigpact_files: UserFiles) -> Any:
    """The model of `--rigpact-onnx`, bound as the engine binds it."""
    if rigpact_files.paths.onnx is None:
        pytest.skip("no --rigpact-onnx")
    return rigpact_files.network


@pytest.fixture(scope="session")
def rigpact_clips(rigpact_files: UserFiles) -> dict[str, Any]:
    """Every `--rigpact-clip` by its name without the suffix (with its folder where two share one)."""
    from rigpact.testing.files import short_names

    if not rigpact_files.paths.clips:
        pytest.skip("no --rigpact-clip")
    names = short_names(rigpact_files.paths.clips, suffix=False)
    return {name: rigpact_files.clip(path) for path, name in names.items()}


@pytest.fixture(scope="session")
def rigpact_traces(rigpact_files: UserFiles) -> dict[str, Trace]:
    """Every `--rigpact-trace` by its file name."""
    from rigpact.contract.settings.gate import RecordedRun
    from rigpact.testing.files import short_names

    if not rigpact_files.paths.traces:
        pytest.skip("no --rigpact-trace")
    names = short_names(rigpact_files.paths.traces, suffix=True)
    return {name: rigpact_files.project.recording(RecordedRun(str(path), name)).trace for path, name in names.items()}


@pytest.fixture(scope="session")
def rigpact_loop(
    rigpact_contract: Contract, rigpact_network: Any, rigpact_clips: dict[str, Any]
) -> Callable[..., Runner]:
    """Start the reference runtime: `rigpact_loop("Walk_F")`, `rigpact_loop("Walk_F", "free", 300)`."""
    from rigpact.reference_runtime.files.declared import files_of
    from rigpact.reference_runtime.files.runner import RunOptions

    def start(clip: str, mode: str = "teacher", frames: int | None = None) -> Runner:
        if clip not in rigpact_clips:
            raise KeyError(f"no clip {clip!r} among {', '.join(rigpact_clips)}")
        options = RunOptions(mode, frames)
        runner: Runner = files_of(rigpact_contract).start(
            rigpact_contract, rigpact_network, rigpact_clips[clip], options
        )
        return runner

    return start
