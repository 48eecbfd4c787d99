"""Options without the file or the word that they need: one line that names it, and exit 2."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_trace, write_trace
from rigpact.reports.command_line.completion import known_conventions

from ..some_bones import of_bones, written
from ..trust_room.recorded_demo import recorded

BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
INVERSION, IK = BUNDLES / "rig_inversion", BUNDLES / "blender_ik"
BUNDLE, MODEL = BUNDLES / "demo" / "norm_template.json", BUNDLES / "demo" / "model.onnx"
CLIP = BUNDLES / "demo" / "clips" / "Sneak_Turn.json"
COMPANION = BUNDLES / "demo" / "pretrain_template.json"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a correct engine records, in a folder of its own."""
    path = tmp_path_factory.mktemp("run") / "run.trace.jsonl"
    write_trace(recorded(), path)
    return path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("diff", "RUN", "RUN", "--onnx", MODEL), "--onnx: found no --contract beside it"),
        (("diff", "COND", "COND", "--contract", BUNDLE, "--teacher", CLIP), "--teacher: found no published pose"),
        (("diff", "COND", "COND", "--contract", BUNDLE, "--table", "OUT"), "--table: found a recording without bones"),
        (
            ("sweep", "--contract", IK / "blender_ik.json", "--mode", "free", IK / "clip.trace.safetensors",
             "--onnx", IK / "model.onnx", "-o", "OUT"),
            "which does not feed itself",
        ),
        (("gate", "--selftest", "--base", "main", "--html", "OUT"), "--selftest: found --base, --html beside it"),
        (("gate", "--only", "bundle"), "--only: found no --selftest"),
        (("explain", "RUN", "--contract", BUNDLE, "--allow-unjudged", "y_uot"), "--allow-unjudged y_uot: found no stage"),
        (("run", "--contract", INVERSION / "rig_inversion.json", "--probe", "OUT"), "a name ending in"),
        (("check", "FOLDER"), "found no artefact"),
        (("check", BUNDLE, "--map", "a=b", "--seed", 0), "PATH: found --map, --seed beside it"),
        (("check", BUNDLE, "--module", "a.py", "--onnx", "b.onnx"), "--module: found PATH, --onnx beside it"),
        (("check", "--each", BUNDLE, "--module", "a.py"), "--each: found --module beside it"),
        (("check", "--each", BUNDLE, "--operations", "a.py"), "--operations: found --each beside it"),
        (("diff", Path("nowhere") / "bundle.json", "--base", "main"), "no bundle.json there"),
    ],
    ids=lambda each: "" if isinstance(each, tuple) else each,
)  # fmt: skip
def test_an_option_without_what_it_needs_is_one_line(
    command: Any, run: Path, tmp_path: Path, words: tuple[Any, ...], says: str
) -> None:
    """An option that is passed over looks as if it had been obeyed."""
    trace = read_trace(run)
    write_trace(replace(trace, stages={"cond": trace.stages["cond"]}), tmp_path / "cond.trace.jsonl")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "to_do.json").write_text('{"to do": ["mend the knee"]}', encoding="utf-8")
    known = {
        "FOLDER": tmp_path / "notes",
        "RUN": run,
        "COND": tmp_path / "cond.trace.jsonl",
        "OUT": tmp_path / "out.csv",
    }
    answer = command(*(known.get(word, word) if isinstance(word, str) else word for word in words))
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_conventions_are_completed_by_name_and_by_value() -> None:
    """Fifty names that nobody remembers are typed wrong."""
    assert "compose_order=" in known_conventions("compose_")
    assert known_conventions("compose_order=prev") == ["compose_order=prev_delta"]
    assert known_conventions("nothing=") == []


def test_answers_in_words_say_what_the_data_say(command: Any, run: Path, tmp_path: Path) -> None:
    """A person reads the text and a machine the JSON: what one of them lacks, nobody looks for."""
    contract = load_contract(BUNDLE, COMPANION)
    files = ("--contract", BUNDLE, "--companion", COMPANION)
    some = written(tmp_path, of_bones(read_trace(run), contract, (0, 1, 5), whole=("state", "y_norm")))
    shown = " ".join(command("diff", run, some, *files).out.split())
    assert "rests on 3 of 46 bones; waived, not recorded: " in shown
    assert "with all bones: " in shown

    page = command("check", "--each", BUNDLE, "--format", "markdown")
    assert page.status == 0
    assert "Files, each by itself" in page.out

    (tmp_path / "net.onnx").write_bytes(MODEL.read_bytes())
    drafted = command("init", tmp_path, "--format", "json")
    assert drafted.status == 0, drafted.err
    assert "now: rigpact check" not in drafted.out
    assert "contract.toml" in str(json.loads(drafted.out))
