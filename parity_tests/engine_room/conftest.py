"""An engine's own loop, compiled once for all tests of this room."""

import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..measuring.scores.engine.engine_side import Engine, Files, compiled, compiler
from ..programs import missing


@pytest.fixture(scope="session")
def engine_of(tmp_path_factory):
    """The loop on some files. Without a compiler the tests are skipped."""
    if compiler() is None:
        missing("C++ compiler")
    library = compiled(tmp_path_factory.mktemp("engine"))
    return lambda files: Engine(library, files)


@pytest.fixture(scope="session")
def engine(engine_of):
    """The loop on the demo character."""
    return engine_of(Files.of_demo(demo_bundle(), "Walk_Spin"))


@pytest.fixture(scope="session")
def bundle():
    """The folder of the demo bundle."""
    return demo_bundle()


def explained(engine, folder, mode, frames, *defects):
    return answer_about(engine.run(folder / f"{mode}.trace.jsonl", mode, frames, *defects), engine.files)


def answer_about(recording, files):
    """What differs between a recording and what these files say."""
    contract = ContractFiles(files.bundle, files.companion)
    return explain(ExplainRequest(recording, contract, EvidenceFiles(files.clip, files.model)))[0]
