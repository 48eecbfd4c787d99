"""`pytest --rigpact-bundle`: what is added, how it fails, and that nothing judged is not a pass; for every system."""

from shutil import copy

import pytest

from rigpact.contract import load_contract
from rigpact.fixtures.mutants import MODEL_EDITS, edited_model
from rigpact.reference_runtime import open_run
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reference_runtime.recordings.clip import read_clip
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reports.command_line import run_command_line

from ..reports_room.demo import BUNDLE, CLIP, DEMO, PREDICTION, edited, without_contacts
from ..soon import SOON
from .conftest import PLUGIN, run_in

QUICK = ("-rA", "-p", "no:cacheprovider")
ALONE = f"--rigpact-bundle={BUNDLE}"
HOSTED = DEMO.parent / "neurarig"
HOSTED_WORDS = [f"--rigpact-{option}={HOSTED / name}" for option, name in
                (("bundle", "neurarig.json"), ("onnx", "model.onnx"), ("clip", "clip.trace.safetensors"))]  # fmt: skip
OWN = "def test_own():\n    pass\n"


@pytest.fixture
def engine_trace(folder):
    """An engine's recording of twenty frames of the demo clip, under conventions that it may have got wrong."""

    def record(**conventions):
        contract = load_contract(BUNDLE, DEMO / "pretrain_template.json", conventions)
        runner = open_run(contract, OnnxNetwork(DEMO / "model.onnx", contract), read_clip(CLIP), "teacher")
        write_trace(run_frames(runner, range(20), "Sneak_Turn", "teacher"), folder / "engine.trace.jsonl")
        return f"--rigpact-trace={folder / 'engine.trace.jsonl'}"

    return record


def replaced(words, old, new):
    return [f"{word.partition('=')[0]}={new}" if word.endswith(f"={old}") else word for word in words]


def failed(ran):
    return [name.removeprefix("rigpact::") for name, outcome in ran.outcomes.items() if outcome == "failed"]


def zeroed(bundle):
    bundle["StdX"][17] = 0.0


def test_a_sound_character_passes_every_test(run_pytest, demo_words, engine_trace):
    """The tests are those of the commands: rules, signature, parity, the engine's stages, properties, a free run."""
    ran = run_pytest(*QUICK, *demo_words, engine_trace())
    assert (ran.status, set(ran.outcomes.values())) == (0, {"passed"}), ran.out[-3000:]
    for name in (
        "contract", "check::RP104", "check::account", "signature", "free-run::Sneak_Turn",
        "teacher-parity::Sneak_Turn_prediction::state", "teacher-parity::Sneak_Turn_prediction::y_out",
        "engine-trace::engine.trace.jsonl::next6d", "property::the network stays finite",
    ):  # fmt: skip
        assert f"rigpact::{name}" in ran.outcomes
    assert ran.summary == f"rigpact: {len(ran.outcomes)} passed, 1 skipped on norm_template.json"


def test_a_finding_fails_its_own_test_is_readable_and_found_again(run_pytest, folder):
    """Place, number and next step, not a traceback; `--lf` runs what failed. A lowered rule is skipped, with its owner."""
    bundle = edited(BUNDLE, folder / BUNDLE.name, zeroed)
    (folder / "test_own.py").write_text(OWN)
    words = (f"--rigpact-bundle={bundle}", "--rigpact-examples=5", "-rA")
    first, again = run_pytest(*words), run_pytest(*words, "--lf")
    assert (first.status, failed(first)) == (1, ["check::RP104"])
    assert "norm_template.json#/StdX/17: RP104 error: StdX[17] = 0: " in first.out
    assert "hint: " in first.out
    assert ("Traceback" in first.out, "checks.py" in first.out) == (False, False)
    assert (again.status, again.outcomes) == (1, {"rigpact::check::RP104": "failed"})
    debt = f'owner = "Ana"\nreason = "later"\nexpires = "{SOON}"\n'
    (folder / "rigpact.toml").write_text(f'[[lower]]\nrule = "RP104"\nto = "info"\n{debt}')
    ran = run_pytest(*words, "--rigpact-config=rigpact.toml", "-k", "check")
    assert (ran.status, f"until {SOON} by Ana: later" in ran.out) == (0, True)


def test_what_the_files_do_not_allow_is_skipped_with_the_option_that_is_missing(run_pytest, demo_words):
    """A green run over a bundle alone must not look like a checked model; inputs are not taken for compared."""
    ran = run_pytest(*QUICK, ALONE, "--rigpact-examples=5")
    assert (ran.status, " skipped on norm_template.json" in ran.summary) == (0, True)
    for missing in (
        "no model: --rigpact-onnx FILE", "no clip: --rigpact-clip FILE", "no teacher prediction: --rigpact-clip FILE",
        "no recording of the engine: --rigpact-trace FILE",
    ):  # fmt: skip
        assert missing in ran.out
    words = [word for word in demo_words if word != f"--rigpact-clip={CLIP}"]
    ran = run_pytest(*QUICK, *words, "-k", "teacher-parity")
    assert [name.rpartition("::")[2] for name, outcome in ran.outcomes.items() if outcome == "passed"] == ["y_out"]


def shifted(document):
    for row in document["prediction"]["y_norm"] + document["prediction"]["y_raw"]:
        row[12:18] = row[0:6]


def test_a_defect_fails_the_test_of_its_stage_and_no_other(run_pytest, demo_words, engine_trace, folder):
    """The stage that differs fails, those that inherit its error do not, and the convention is named."""
    ran = run_pytest(*QUICK, *demo_words, engine_trace(compose_order="prev_delta"), "-k", "engine-trace")
    assert (ran.status, failed(ran)) == (1, ["engine-trace::engine.trace.jsonl::next6d"])
    assert "computed with compose_order = prev_delta" in ran.out
    other = edited(PREDICTION, folder / PREDICTION.name, shifted)
    ran = run_pytest(*QUICK, *replaced(demo_words, PREDICTION, other), "-k", "teacher-parity")
    assert (ran.status, failed(ran)) == (1, ["teacher-parity::Sneak_Turn_prediction::y_out"])
    other = edited(BUNDLE, folder / BUNDLE.name, without_contacts)
    ran = run_pytest(*QUICK, *replaced(demo_words, BUNDLE, other), "-k", "signature")
    assert (ran.status, "input 0 (state): the contract has" in ran.out) == (1, True)
    ran = run_pytest(*QUICK, f"--rigpact-bundle={edited(BUNDLE, other, lambda bundle: bundle.pop('MuY'))}")
    assert (ran.status, ran.outcomes["rigpact::contract"], "Traceback" in ran.out) == (1, "failed", False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--rigpact-bundle missing.json", "--rigpact-bundle missing.json: no such file"),
        ("--rigpact-onnx model.onnx", "--rigpact-onnx: no --rigpact-bundle beside it"),
        ("--rigpact-set a=b", "--rigpact-set: no --rigpact-bundle beside it"),
        ("--rigpact-bundle here.json --rigpact-examples 0", "--rigpact-examples: at least 1"),
        (f"--rigpact-bundle {BUNDLE}", "write --rigpact-bundle=FILE"),  # pytest would take the file for a test
    ],
    ids=["missing", "alone", "set alone", "none drawn", "elsewhere"],
)
def test_a_wrong_option_ends_the_run(run_pytest, folder, words, says):
    """If an option is silently ignored, the gate does not check anything."""
    (folder / "here.json").write_text("{}", encoding="utf-8")
    ran = run_pytest(*words.split())
    assert (ran.status, says in ran.out) == (4, True)


JUNK = {
    "bundle": ("norm.json", b"", b"junk \xff\x00", b"{}", b"[1, 2"), "onnx": ("model.onnx", b"", b"junk \xff\x00"),
    "companion": ("companion.json", b"[1, 2"), "clip": ("clip.json", b"", b'{"Frames": ['),
    "trace": ("engine.trace.jsonl", b"{}"), "config": ("rigpact.toml", b"junk \xff\x00"),
    "conventions": ("conventions.toml", b"[1, 2"),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("option", "content"), [(option, each) for option, (_, *some) in JUNK.items() for each in some]
)
def test_a_damaged_file_is_no_pass_and_no_traceback(run_pytest, demo_words, folder, option, content):
    """The file of a broken export; the run must end red and say which file it was."""
    name = JUNK[option][0]
    (folder / name).write_bytes(content)
    words = [word for word in demo_words if not word.startswith(f"--rigpact-{option}=") or option == "clip"]
    ran = run_pytest("-p", "no:cacheprovider", *words, f"--rigpact-{option}={folder / name}")
    assert (ran.status in (1, 2), name in ran.out) == (True, True), ran.out[-2000:]
    assert ("Traceback" in ran.out, "INTERNALERROR" in ran.out) == (False, False)


def test_nothing_judged_is_no_pass(run_pytest, folder):
    """A conftest that drops what it does not know would switch the gate off."""
    (folder / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if not i.nodeid.startswith('rigpact')]\n"
    )
    (folder / "test_own.py").write_text(OWN)
    ran = run_pytest(ALONE)
    assert (ran.status, "1 passed" in ran.out) == (1, True)
    assert ran.summary.endswith("nothing was judged, which is not a pass")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "words", [("-k", "test_own"), ("-m", "not rigpact"), ("-k", "test_own", "-n", "2")], ids=" ".join
)
def test_what_the_user_leaves_out_is_his_choice(run_pytest, folder, words):
    """With the option in addopts, `-k` for one own test must not fail for lack of ours."""
    if "-n" in words:
        pytest.importorskip("xdist")
    (folder / "test_own.py").write_text(OWN)
    ran = run_pytest(ALONE, *words)
    assert (ran.status, "no test, " in ran.summary) == (0, True), ran.out
    assert ran.summary.endswith("deselected on norm_template.json")


def test_fixtures_give_the_files_to_own_tests(run_pytest, demo_words, folder):
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
    ran, without = run_pytest(*QUICK, *demo_words, "-k", "test_own.py"), run_pytest("-rs")
    assert (ran.status, "1 passed, 1 skipped" in ran.out, "no --rigpact-trace" in ran.out) == (0, True, True), ran.out
    assert (without.status, without.summary) == (0, "")
    assert ("2 skipped" in without.out, "no --rigpact-bundle" in without.out) == (True, True)


def test_a_property_fails_without_hypothesis_and_where_it_does_not_hold(run_apart, run_pytest, demo_words, folder):
    """What was not judged is not a pass; the smallest input that shows a defect is printed, the same in every run."""
    model = folder / "model.onnx"
    model.write_bytes(edited_model((DEMO / "model.onnx").read_bytes(), MODEL_EDITS["a NaN in one weight"]))
    words = (*QUICK, *replaced(demo_words, DEMO / "model.onnx", model), "-k", "property")
    first, again = run_pytest(*words), run_pytest(*words)
    assert (first.status, failed(first)) == (1, ["property::the network stays finite"])
    assert "outputs are not finite" in first.out
    drawn = [each.out.partition("vectors=(")[2].partition("\n)")[0] for each in (first, again)]
    assert drawn[0] == drawn[1] != ""
    (folder / "conftest.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'hypothesis' else find(name, *rest)\n"
    )
    ran = run_apart(*QUICK, "-p", "no:hypothesispytest", *demo_words, "-k", "property or signature")
    properties = {outcome for name, outcome in ran.outcomes.items() if "::property::" in name}
    assert (ran.status, ran.outcomes["rigpact::signature"], properties) == (1, "passed", {"failed"})
    assert "pip install 'rigpact[testing]'" in ran.out


def test_every_name_stands_once(run_pytest, demo_words, engine_trace, folder):
    """xdist, reports and `--lf` know a test by its name only; two takes of a clip share theirs."""
    for take in ("take_1", "take_2"):
        (folder / take).mkdir()
        copy(DEMO / "clips" / "Walk_Spin.json", folder / take)
        demo_words.append(f"--rigpact-clip={folder / take / 'Walk_Spin.json'}")
    more = (DEMO / "clips" / "Run_F.json", DEMO / "teacher_batches" / "Sneak_Turn_teacher.json")
    words = [*demo_words, engine_trace(), *(f"--rigpact-clip={path}" for path in more)]
    names = [line for line in run_pytest("--co", "-q", *words).out.splitlines() if line.startswith("rigpact::")]
    assert len(names) == len(set(names)) > 200
    assert {"rigpact::free-run::take_1/Walk_Spin", "rigpact::free-run::take_2/Walk_Spin"} <= set(names)


NOT_IMPORTED = (
    "numpy", "onnxruntime", "onnx", "torch", "hypothesis.strategies", "orjson", "rigpact.contract", "rigpact.testing.items",
)  # fmt: skip


def test_without_the_option_nothing_is_imported(run_apart, folder):
    """An import would slow every pytest run in every project of a user with rigpact installed."""
    (folder / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure(config):\n"
        f"    print('IMPORTED', [name for name in {NOT_IMPORTED!r} if name in sys.modules])\n"
        "    print('OURS', sorted(name for name in sys.modules if name.split('.')[0] == 'rigpact'))\n"
    )
    (folder / "test_own.py").write_text(OWN)
    without = [
        word for name in ("hypothesispytest", "benchmark", "regressions", "zarr") for word in ("-p", f"no:{name}")
    ]
    ran = run_apart("--collect-only", "-q", *without)
    assert "IMPORTED []" in ran.out
    assert "OURS ['rigpact', 'rigpact.testing', 'rigpact.testing.plugin']" in ran.out
    assert "rigpact::" not in ran.out


def recorded(folder, *settings):
    """A hosted system's trace, made by the reference runtime under changed conventions, as an option."""
    path = folder / "engine.trace.jsonl"
    words = [
        "run", "--contract", HOSTED / "neurarig.json", HOSTED / "clip.trace.safetensors", "--onnx",
        HOSTED / "model.onnx",
    ]  # fmt: skip
    words += ["--frames", 30, "--out", path, *(word for each in settings for word in ("--set", each))]
    assert run_command_line(list(map(str, words))) == 0
    return f"--rigpact-trace={path}"


def test_a_hosted_contract_is_judged_by_the_same_tests(run_pytest, folder):
    """An animator adds two lines to the studio's own. A wrong convention is named; what lacks its files is skipped."""
    ran = run_pytest("-rA", *HOSTED_WORDS, recorded(folder))
    assert (ran.status, set(ran.outcomes.values())) == (0, {"passed"})
    of_trace = "engine-trace::engine.trace.jsonl::joints"
    for name in (
        "contract", "check::RP702", "signature", of_trace, "property::the network stays finite", "free-run::clip",
    ):  # fmt: skip
        assert f"rigpact::{name}" in ran.outcomes
    ran = run_pytest("-rA", HOSTED_WORDS[0], recorded(folder))
    assert (ran.outcomes[f"rigpact::{of_trace}"], "no model: --rigpact-onnx FILE" in ran.out) == ("passed", True)
    ran = run_pytest("-rA", *HOSTED_WORDS, recorded(folder, "bone_axis=x_both"))
    assert (ran.status, failed(ran), "bone_axis = x_both" in ran.out) == (1, [of_trace], True)
    ran = run_pytest(*HOSTED_WORDS, f"--rigpact-companion={DEMO / 'pretrain_template.json'}")
    assert (ran.status, "this system has no such file" in ran.out) == (1, True)
    ran = run_pytest("-rA", *HOSTED_WORDS, "--rigpact-set=unit=inch")
    assert ran.outcomes["rigpact::contract"] == "failed"


OWN_PACKAGES = ("contract", "fixtures", "reports", "testing", "reference_runtime")
OWN_TESTS = 2 * len(OWN_PACKAGES) + 1
SETTINGS = """
[project]
name = "hostile"
version = "1"
[tool.pytest.ini_options]
addopts = ["--strict-markers", "--strict-config", "-ra", "--import-mode={mode}"]
markers = ["rigged: their own"]
testpaths = ["contract", "fixtures", "reports", "testing", "reference_runtime", "tests"]
filterwarnings = ["error"]
pythonpath = ["."]
"""
CONFTEST = """
import sys
import pytest
import contract
assert contract.THEIRS == "contract"

@pytest.fixture
def rigpact_note():
    return "theirs"

@pytest.fixture(scope="session")
def contract_of_theirs():
    return contract

def pytest_configure(config):
    config.addinivalue_line("markers", "theirs: their own")

def pytest_collection_modifyitems(items):
    for item in items:
        if "tests" in item.nodeid:
            item.add_marker("theirs")
"""
OWN_TEST = """
import pytest
import {name}
from {name} import THEIRS

@pytest.mark.rigged
def test_the_package_is_ours():
    assert THEIRS == "{name}"
    assert not hasattr({name}, "load_contract")
    assert type({name}.__loader__).__name__ == "SourceFileLoader"  # not taken for a plugin, whose asserts are rewritten

def test_rigpact_is_there_too():
    import rigpact.contract
    assert rigpact.contract.__name__ == "rigpact.contract"
"""


WITH_FIXTURES = """
def test_fixtures(rigpact_note, contract_of_theirs, rigpact_contract):
    assert rigpact_note == 'theirs'
    assert contract_of_theirs.THEIRS == 'contract'
    assert rigpact_contract.numbers.bone_count > 0
"""


@pytest.fixture
def hostile(tmp_path):
    """Write the repository; `mode` is its import mode."""

    def write(mode):
        texts = {
            "pyproject.toml": SETTINGS.format(mode=mode), "conftest.py": CONFTEST,
            "tests/test_with_fixtures.py": WITH_FIXTURES,
            **{f"{name}/__init__.py": f"THEIRS = {name!r}\n" for name in OWN_PACKAGES},
            **{f"{name}/test_{name}.py": OWN_TEST.format(name=name) for name in OWN_PACKAGES},
        }  # fmt: skip
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


WAYS = {
    "prepend": ("prepend", ()), "importlib": ("importlib", ("-p", "no:cacheprovider")),
    "append": ("append", ("--lf",)), "xdist": ("prepend", ("-n", "2")),
    "xdist by file": ("importlib", ("-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider")),
}  # fmt: skip


def judged(ran):
    return ran.status, f"rigpact: {ours(ran)} passed" in ran.out, f"{ours(ran) + OWN_TESTS} passed" in ran.out


def ours(ran):
    return int(ran.summary.partition(" passed")[0].rpartition(" ")[2])


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way in ("prepend", "xdist by file") else pytest.mark.nightly) for way in WAYS]
)
def test_their_tests_and_ours_run_side_by_side(hostile, demo_words, way):
    """Users uninstall a tool that breaks their own tests."""
    mode, words = WAYS[way]
    if "-n" in words:
        pytest.importorskip("xdist")
    ran = run_in(hostile(mode), [*PLUGIN, *words, *demo_words], {})
    assert judged(ran) == (0, True, True), ran.out[-3000:]
    assert ours(ran) > 100


def test_without_the_option_only_their_tests_run(hostile):
    """Without its option, the installed plugin must have no effect."""
    ran = run_in(hostile("importlib"), list(PLUGIN), {})
    assert (ran.status, ran.summary) == (0, ""), ran.out[-3000:]
    assert f"{OWN_TESTS - 1} passed, 1 skipped" in ran.out
