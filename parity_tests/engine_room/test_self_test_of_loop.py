"""SelfTestEngine on a loop that shares no code with rigpact: it passes without a mistake, and refuses what a free run shows."""

import subprocess
from pathlib import Path

import pytest

from rigpact.contract import load_contract
from rigpact.reports.engine.header import contract_header

from ..measuring.scores.engine.engine_side import RECORDER, SOURCE, compiler
from ..programs import missing

NOT_OF_A_FREE_RUN = {"yaw_in_degrees", "thirty_hertz", "clamped_step", "float_accumulation", "previous_pose_is_own"}
"""Mistakes in how a clip drives the loop; in a free run with given answers nothing of them is there to see."""
BEFORE_THE_NETWORK = {"half_precision_inputs"}
"""The answers are given, so what the network is handed does not count."""


def names() -> list[str]:
    """The mistakes of the loop, in the order of their numbers."""
    text = SOURCE.read_text(encoding="utf-8")
    body = text.split("enum Defect : int {")[1].split("}")[0]
    return [word.strip() for word in body.replace("\n", " ").split(",")]


@pytest.fixture(scope="module")
def answers(demo_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int, str]]:
    """Of each mistake: the failed checks, the stages that were compared, the words."""
    if compiler() is None:
        missing("C++ compiler")
    folder = tmp_path_factory.mktemp("loop")
    files = [demo_bundle / name for name in ("norm_template.json", "pretrain_template.json")]
    contract = load_contract(*files)
    (folder / "contract.hpp").write_text(contract_header(contract), encoding="utf-8")
    program = folder / "loop"
    source = Path(__file__).parent / "self_test_of_loop.cpp"
    flags = ["-std=c++17", "-O1", "-pthread", f"-I{RECORDER}", f"-I{folder}", f"-I{SOURCE.parent}"]
    subprocess.run([str(compiler()), *flags, str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program), *map(str, files)], check=True, capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        number, failed, compared, words = line.split(" ", 3)
        found[names()[int(number)]] = int(failed), int(compared), words
    return found


def test_a_loop_that_nobody_here_wrote_for_it_passes(answers: dict[str, tuple[int, int, str]]) -> None:
    """A self-test that refuses a correct engine is switched off. 15 stages are compared in three frames."""
    assert answers["none"] == (0, 45, "agrees with the contract")


def test_what_a_free_run_shows_is_refused(answers: dict[str, tuple[int, int, str]]) -> None:
    """Each of these reached players once."""
    silent = {name for name, (failed, _, _) in answers.items() if not failed}
    assert silent == {"none", *NOT_OF_A_FREE_RUN, *BEFORE_THE_NETWORK}
    assert answers["published_late"][2].startswith("frame 1, quat[0]: found ")
    assert len(answers) == len(names()) - 1 == 37
