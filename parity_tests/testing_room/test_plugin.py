"""`pytest --rigpact-bundle`: what is added, how it fails, and that nothing judged is not a pass."""

from collections.abc import Callable
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import open_run
from rigpact.reference_runtime.files.runner import run_frames
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reference_runtime.recordings.clip import read_clip
from rigpact.reference_runtime.recordings.trace import write_trace

from ..soon import SOON

Run = Callable[..., Any]
QUICK = ("-rA", "-p", "no:cacheprovider")


@pytest.fixture
def engine_trace(demo_bundle: Path, folder: Path) -> Callable[..., Path]:
    """An engine's recording of twenty frames of the demo clip, under conventions that it may have got wrong."""

    def record(**conventions: str) -> Path:
        contract = load_contract(
            demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json", conventions
        )
        clip = read_clip(demo_bundle / "clips" / "Sneak_Turn.json")
        runner = open_run(contract, OnnxNetwork(demo_bundle / "model.onnx", contract), clip, "teacher")
        path = folder / "engine.trace.jsonl"
        write_trace(run_frames(runner, range(20), "Sneak_Turn", "teacher"), path)
        return path

    return record


def replaced(words: list[str], old: Path, new: Path) -> list[str]:
    """The same options with another file."""
    return [f"{word.partition('=')[0]}={new}" if word.endswith(f"={old}") else word for word in words]


def test_a_sound_character_passes_every_test(run_pytest: Run, demo_words: list[Any], engine_trace: Any) -> None:
    """The tests are those of the commands: rules, signature, parity, the engine's stages, properties, a free run."""
    ran = run_pytest(*QUICK, *demo_words, f"--rigpact-trace={engine_trace()}")

    outcomes = ran.outcomes
    assert (ran.status, set(outcomes.values())) == (0, {"passed"}), ran.out[-3000:]
    for name in (
        "rigpact::contract",
        "rigpact::check::RP104",
        "rigpact::check::account",
        "rigpact::signature",
        "rigpact::check::RP415",
        "rigpact::teacher-parity::Sneak_Turn_prediction::state",
        "rigpact::teacher-parity::Sneak_Turn_prediction::y_out",
        "rigpact::engine-trace::engine.trace.jsonl::next6d",
        "rigpact::property::composition stays a rotation",
        "rigpact::free-run::Sneak_Turn",
    ):
        assert name in outcomes
    assert ran.summary == f"rigpact: {len(outcomes)} passed, 1 skipped on norm_template.json"


def test_a_finding_fails_its_own_test_and_is_readable(run_pytest: Run, demo_bundle: Path, edited: Any) -> None:
    """The animator must read place, number and next step, not a traceback."""
    bundle = edited(demo_bundle / "norm_template.json", lambda document: document["StdX"].__setitem__(17, 0.0))

    ran = run_pytest(*QUICK, f"--rigpact-bundle={bundle}", "-k", "check")

    failed = {name for name, outcome in ran.outcomes.items() if outcome == "failed"}
    assert (ran.status, failed) == (1, {"rigpact::check::RP104"})
    assert "norm_template.json#/StdX/17: RP104 error: StdX[17] = 0: a standard deviation must be > 0" in ran.out
    assert "hint: re-run the statistics" in ran.out
    assert "Traceback" not in ran.out
    assert "checks.py" not in ran.out


def test_what_the_files_do_not_allow_is_skipped_with_the_option_that_is_missing(
    run_pytest: Run, demo_bundle: Path
) -> None:
    """A green run over a bundle alone must not look like a checked model."""
    ran = run_pytest(*QUICK, f"--rigpact-bundle={demo_bundle / 'norm_template.json'}", "--rigpact-examples=5")

    assert ran.status == 0
    for missing in (
        "no model: --rigpact-onnx FILE",
        "no clip: --rigpact-clip FILE",
        "no teacher prediction: --rigpact-clip FILE",
        "no recording of the engine: --rigpact-trace FILE",
    ):
        assert missing in ran.out
    assert " skipped on norm_template.json" in ran.summary


def test_an_engine_that_composes_the_other_way_round_is_told_so(
    run_pytest: Run, demo_words: list[Any], engine_trace: Any
) -> None:
    """The stage that differs fails, those that inherit its error do not, and the convention is named."""
    trace = engine_trace(compose_order="prev_delta")

    ran = run_pytest(*QUICK, *demo_words, f"--rigpact-trace={trace}", "-k", "engine-trace")

    failed = [name.rpartition("::")[2] for name, outcome in ran.outcomes.items() if outcome == "failed"]
    assert (ran.status, failed) == (1, ["next6d"])
    assert "computed with compose_order = prev_delta" in ran.out


def test_a_prediction_of_other_poses_fails_its_parity(
    run_pytest: Run, demo_words: list[Any], demo_bundle: Path, edited: Any
) -> None:
    """The worst bone has a name, and the stages that agree still pass."""

    def shift(document: Any) -> None:
        for row in document["prediction"]["y_norm"] + document["prediction"]["y_raw"]:
            row[12:18] = row[0:6]

    source = demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    words = replaced(demo_words, source, edited(source, shift))

    ran = run_pytest(*QUICK, *words, "-k", "teacher-parity")

    outcomes = {name.rpartition("::")[2]: outcome for name, outcome in ran.outcomes.items()}
    assert ran.status == 1
    assert [stage for stage, outcome in outcomes.items() if outcome == "failed"] == ["y_out"]
    assert outcomes["state"] == "passed"
    assert "RP801 error: y_out differs from frame 0 on" in ran.out


def test_without_the_raw_clip_inputs_are_not_taken_for_compared(
    run_pytest: Run, demo_words: list[Any], demo_bundle: Path
) -> None:
    """A prediction driven by its own rows agrees with itself whatever it holds."""
    clip = demo_bundle / "clips" / "Sneak_Turn.json"
    words = [word for word in demo_words if word != f"--rigpact-clip={clip}"]

    ran = run_pytest(*QUICK, *words, "-k", "teacher-parity")

    assert [name.rpartition("::")[2] for name, outcome in ran.outcomes.items() if outcome == "passed"] == ["y_out"]
    assert "rebuilt from clips/Sneak_Turn.json only: --rigpact-clip FILE" in ran.out


def test_a_model_of_another_character_fails_the_signature(
    run_pytest: Run, demo_words: list[Any], demo_bundle: Path, edited: Any
) -> None:
    """The engine would cut or pad the state silently."""

    def without_contacts(document: Any) -> None:
        del document["meta"]["state_layout"]["Contacts"], document["input_dim"]
        document["MuX"], document["StdX"] = document["MuX"][:-2], document["StdX"][:-2]

    bundle = demo_bundle / "norm_template.json"
    words = replaced(demo_words, bundle, edited(bundle, without_contacts))

    ran = run_pytest(*QUICK, *words, "-k", "signature")

    assert ran.status == 1
    assert "input 0 (state): the contract has" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--rigpact-bundle", "missing.json"), "--rigpact-bundle missing.json: no such file"),
        (("--rigpact-onnx", "model.onnx"), "--rigpact-onnx: no --rigpact-bundle beside it"),
        (("--rigpact-set", "a=b"), "--rigpact-set: no --rigpact-bundle beside it"),
        (("--rigpact-bundle", "here.json", "--rigpact-examples", "0"), "--rigpact-examples: at least 1"),
    ],
    ids=["missing", "alone", "set alone", "none drawn"],
)
def test_a_wrong_option_ends_the_run(run_pytest: Run, folder: Path, words: tuple[str, ...], says: str) -> None:
    """If an option is silently ignored, the gate does not check anything."""
    (folder / "here.json").write_text("{}", encoding="utf-8")

    ran = run_pytest(*words)

    assert ran.status == 4
    assert says in ran.out


def test_a_clip_that_cannot_be_read_fails_the_collection(run_pytest: Run, demo_words: list[Any], folder: Path) -> None:
    """One line with the place, and no test that looks as if it had passed."""
    broken = folder / "broken.json"
    broken.write_text('{"Frames": [', encoding="utf-8")

    ran = run_pytest(*QUICK, *demo_words, f"--rigpact-clip={broken}")

    assert ran.status != 0
    assert "broken.json:1:" in ran.out
    assert "Traceback" not in ran.out


JUNK = {
    "--rigpact-bundle": "norm.json", "--rigpact-companion": "companion.json", "--rigpact-onnx": "model.onnx",
    "--rigpact-clip": "clip.json", "--rigpact-trace": "engine.trace.jsonl", "--rigpact-config": "rigpact.toml",
    "--rigpact-conventions": "conventions.toml",
}  # fmt: skip


ALLOWED = {("--rigpact-config", b""), ("--rigpact-conventions", b"")}


@pytest.mark.parametrize(
    "content", [b"", b"junk \xff\x00", b"{}", b"[1, 2"], ids=["empty", "binary", "object", "cut off"]
)
@pytest.mark.parametrize("option", JUNK)
def test_a_damaged_file_is_no_pass_and_no_traceback(
    run_pytest: Run, demo_words: list[Any], folder: Path, option: str, content: bytes
) -> None:
    """The file of a broken export; the run must end red and say which file it was."""
    if (option, content) in ALLOWED:
        pytest.skip("an empty TOML file is a valid one")
    name = JUNK[option]
    (folder / name).write_bytes(content)
    words = [word for word in demo_words if not word.startswith(f"{option}=") or option == "--rigpact-clip"]

    ran = run_pytest("-p", "no:cacheprovider", *words, f"{option}={folder / name}")

    assert ran.status in (1, 2), ran.out[-2000:]
    assert name in ran.out
    assert "Traceback" not in ran.out
    assert "INTERNALERROR" not in ran.out


def test_a_convention_that_is_none_fails(run_pytest: Run, demo_words: list[Any]) -> None:
    """A mistyped convention that is ignored tests another loop."""
    ran = run_pytest("-p", "no:cacheprovider", *demo_words, "--rigpact-set=compose_ordr=prev_delta")

    assert ran.status in (1, 2)
    assert "compose_ordr: found an unknown knob" in ran.out
    assert "Traceback" not in ran.out


def test_a_bundle_that_does_not_load_fails(run_pytest: Run, demo_bundle: Path, edited: Any) -> None:
    """If the engine refuses the bundle, every test that needs a contract must fail with one line."""
    bundle = edited(demo_bundle / "norm_template.json", lambda document: document.pop("MuY"))

    ran = run_pytest(*QUICK, f"--rigpact-bundle={bundle}")

    assert ran.status == 1
    assert ran.outcomes["rigpact::contract"] == "failed"
    assert "expected a contract that the engine can load" in ran.out
    assert "Traceback" not in ran.out


def test_nothing_judged_is_no_pass(run_pytest: Run, demo_bundle: Path, folder: Path) -> None:
    """A conftest that drops what it does not know would switch the gate off."""
    (folder / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if not i.nodeid.startswith('rigpact')]\n"
    )
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")

    ran = run_pytest(f"--rigpact-bundle={demo_bundle / 'norm_template.json'}")

    assert ran.status == 1
    assert ran.summary.endswith("nothing was judged, which is not a pass")
    assert "1 passed" in ran.out


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
@pytest.mark.parametrize("choice", [("-k", "test_own"), ("-m", "not rigpact")], ids=["by name", "by mark"])
def test_what_the_user_leaves_out_is_his_choice(
    run_pytest: Run, demo_bundle: Path, folder: Path, choice: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    """With the option in addopts, `-k` for one own test must not fail for lack of ours."""
    if workers:
        pytest.importorskip("xdist")
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")

    ran = run_pytest(f"--rigpact-bundle={demo_bundle / 'norm_template.json'}", *choice, *workers)

    assert ran.status == 0, ran.out
    assert "no test, " in ran.summary
    assert ran.summary.endswith("deselected on norm_template.json")


def test_a_warning_fails_where_it_is_asked_to(run_pytest: Run, demo_bundle: Path, edited: Any) -> None:
    """As `rigpact check --strict`."""
    bundle = edited(demo_bundle / "norm_template.json", lambda document: document["meta"].pop("skeleton"))
    words = (*QUICK, f"--rigpact-bundle={bundle}", "-k", "check")

    lax, strict = run_pytest(*words), run_pytest(*words, "--rigpact-strict")

    assert (lax.status, strict.status) == (0, 1)
    assert " warning: " in strict.out


def test_a_configuration_leaves_rules_out(run_pytest: Run, demo_bundle: Path, edited: Any, folder: Path) -> None:
    """A rule that the project lowered is skipped, with the file, the owner, the reason and the day."""
    bundle = edited(demo_bundle / "norm_template.json", lambda document: document["StdX"].__setitem__(17, 0.0))
    debt = f'owner = "Ana"\nreason = "later"\nexpires = "{SOON}"\n'
    (folder / "rigpact.toml").write_text(f'[[lower]]\nrule = "RP104"\nto = "info"\n{debt}')

    ran = run_pytest(*QUICK, f"--rigpact-bundle={bundle}", "--rigpact-config=rigpact.toml", "-k", "check")

    assert ran.status == 0
    assert f"lowered in rigpact.toml until {SOON} by Ana: later" in ran.out


def test_fixtures_give_the_files_to_own_tests(run_pytest: Run, demo_words: list[Any], folder: Path) -> None:
    """A studio writes its own assertions on its own loop in five lines."""
    (folder / "test_own.py").write_text(
        "def test_own(rigpact_contract, rigpact_network, rigpact_clips, rigpact_loop):\n"
        "    assert rigpact_contract.numbers.bone_count == 46\n"
        "    assert rigpact_network.bound_widths[0] == rigpact_contract.numbers.state.width\n"
        "    assert set(rigpact_clips) == {'Sneak_Turn', 'Sneak_Turn_prediction'}\n"
        "    loop = rigpact_loop('Sneak_Turn', 'free')\n"
        "    assert loop.step()['y_out'].shape == (rigpact_contract.numbers.output.width,)\n"
        "def test_traces(rigpact_traces):\n    assert False\n"
    )

    with_files = run_pytest(*QUICK, *demo_words, "-k", "test_own.py")
    without = run_pytest("-rs")

    assert with_files.status == 0, with_files.out
    assert "1 passed, 1 skipped" in with_files.out
    assert "no --rigpact-trace" in with_files.out
    assert (without.status, without.summary) == (0, "")
    assert "2 skipped" in without.out
    assert "no --rigpact-bundle" in without.out


def test_properties_fail_without_hypothesis(run_apart: Run, demo_words: list[Any], folder: Path) -> None:
    """hypothesis is an extra; the other tests run without it, but what was not judged is not a pass."""
    (folder / "conftest.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'hypothesis' else find(name, *rest)\n"
    )

    ran = run_apart(*QUICK, "-p", "no:hypothesispytest", *demo_words, "-k", "property or signature")

    properties = {outcome for name, outcome in ran.outcomes.items() if "::property::" in name}
    assert (ran.status, ran.outcomes["rigpact::signature"], properties) == (1, "passed", {"failed"})
    assert "hypothesis is not installed: pip install 'rigpact[testing]'" in ran.out


def test_a_property_that_is_not_promised_is_skipped(run_pytest: Run, demo_words: list[Any]) -> None:
    """A loop that is declared not to renormalise is not a defect of the loop."""
    ran = run_pytest(*QUICK, *demo_words, "--rigpact-set=reproject=none", "-k", "composition or packing")

    assert ran.status == 0
    assert "reproject=none, output_mode=residual promise no rotation" in ran.out
    assert list(ran.outcomes) == ["rigpact::property::rotations survive their packing"]


@pytest.mark.parametrize("words", [(), ("--rigpact-seed=3",)], ids=["always the same", "seeded"])
def test_a_property_that_does_not_hold_shows_what_it_drew(
    run_apart: Run, demo_words: list[Any], folder: Path, words: tuple[str, ...]
) -> None:
    """The smallest input that shows it is printed, and it is the same in the next run."""
    (folder / "conftest.py").write_text(
        "from rigpact.reference_runtime.vocabulary.posing.composed_pose import ComposedPose\n"
        "sound = ComposedPose.__call__\n"
        "ComposedPose.__call__ = lambda self, delta, previous: sound(self, delta, previous) * 1.01\n"
    )

    ran = [run_apart(*QUICK, *demo_words, *words, "-k", "keeps") for _ in range(2)]

    assert ran[0].status == 1
    assert "the identity as a delta moves the pose by 0.01" in ran[0].out
    drawn = [run.out.partition("previous=array(")[2].partition("\n)")[0] for run in ran]
    assert drawn[0] == drawn[1] != ""


def test_a_bundle_elsewhere_must_not_move_the_root(run_pytest: Run, demo_bundle: Path) -> None:
    """As two words, pytest takes the file for a test: the settings of the user's own repository would go unread."""
    ran = run_pytest("--rigpact-bundle", demo_bundle / "norm_template.json")

    assert ran.status == 4
    assert "write --rigpact-bundle=FILE" in ran.out


def test_the_last_failed_are_found_again(run_pytest: Run, demo_bundle: Path, folder: Path, edited: Any) -> None:
    """`--lf` after a repair must run what failed, and nothing else."""
    bundle = edited(demo_bundle / "norm_template.json", lambda document: document["StdX"].__setitem__(17, 0.0))
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")
    words = (f"--rigpact-bundle={bundle}", "--rigpact-examples=5")

    first, again = run_pytest(*words), run_pytest(*words, "--lf", "-rA")

    assert (first.status, again.status) == (1, 1)
    assert again.outcomes == {"rigpact::check::RP104": "failed"}
    assert "rerun previous 1 failure" in again.out


def test_every_name_stands_once(
    run_pytest: Run, demo_words: list[Any], engine_trace: Any, demo_bundle: Path, folder: Path
) -> None:
    """xdist, reports and `--lf` know a test by its name only; two takes of a clip share theirs."""
    for take in ("take_1", "take_2"):
        (folder / take).mkdir()
        copy(demo_bundle / "clips" / "Walk_Spin.json", folder / take)
        demo_words.append(f"--rigpact-clip={folder / take / 'Walk_Spin.json'}")
    clip, batch = demo_bundle / "clips" / "Run_F.json", demo_bundle / "teacher_batches" / "Sneak_Turn_teacher.json"
    more = [f"--rigpact-trace={engine_trace()}", f"--rigpact-clip={clip}", f"--rigpact-clip={batch}"]

    names = [
        line for line in run_pytest("--co", "-q", *demo_words, *more).out.splitlines() if line.startswith("rigpact::")
    ]

    assert len(names) == len(set(names)) > 200
    assert {"rigpact::free-run::take_1/Walk_Spin", "rigpact::free-run::take_2/Walk_Spin"} <= set(names)


NOT_IMPORTED = (
    "numpy",
    "onnxruntime",
    "onnx",
    "torch",
    "hypothesis.strategies",
    "orjson",
    "rigpact.contract",
    "rigpact.testing.items",
)


def test_without_the_option_nothing_is_imported(run_apart: Run, folder: Path) -> None:
    """An import would slow every pytest run in every project of a user with rigpact installed."""
    (folder / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure(config):\n"
        f"    print('IMPORTED', [name for name in {NOT_IMPORTED!r} if name in sys.modules])\n"
        "    print('OURS', sorted(name for name in sys.modules if name.split('.')[0] == 'rigpact'))\n"
    )
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")

    ran = run_apart("--collect-only", "-q", "-p", "no:hypothesispytest", "-p", "no:benchmark", "-p", "no:regressions")

    assert "IMPORTED []" in ran.out
    assert "OURS ['rigpact', 'rigpact.testing', 'rigpact.testing.fixtures', 'rigpact.testing.plugin']" in ran.out
    assert "rigpact::" not in ran.out
