"""`rigpact check --module`: every way in which a training side's function goes wrong is named, and nothing else is said.

golden/ holds the first report of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.contract.rules.family import geometry as rules
from rigpact.reports.geometry_parity.examination import Found, examine
from rigpact.reports.geometry_parity.roles import ROLES, defect, half_turns

from ..every_case import every_case
from .defects import DEFECTS, TORCH_DEFECTS
from .subjects import sound_numpy

SUBJECTS = Path(__file__).parent / "subjects"
GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))
HAS_TORCH = find_spec("torch") is not None
ALL = (*DEFECTS, *(TORCH_DEFECTS if HAS_TORCH else ()))
FIRST = {wrong.code: wrong for wrong in reversed(ALL)}
RESIDUAL = find_system("enemy_animation").conventions({"output_mode": "residual"})


def examined(function, role, library="numpy", seed=0):
    """What is said of one function in its role."""
    found = [Found(function.__name__, function, (role,))]
    return examine("their_geometry.py", ModuleType("m"), found, library, RESIDUAL, seed)


@every_case("wrong", ALL, ids=lambda wrong: f"{wrong.library}-{wrong.code}-{wrong.name}")
def test_the_defect_is_named_whatever_the_seed(wrong):
    """Each of these trains without an error and plays wrong in the game; users ignore a finding that depends on the seed."""
    report = examined(wrong.function, wrong.role, wrong.library)
    found = [finding for finding in report.findings if finding.rule.code == wrong.code]
    assert any(wrong.says in finding.message for finding in found), [each.message for each in report.findings]
    assert {finding.pointer for finding in report.findings} == {f"/{wrong.role}"}
    if wrong.alone:
        assert {finding.rule.code for finding in report.findings} == {wrong.code}
    if ALL.index(wrong) % 3 == 0:  # for one in three, another seed
        again = examined(wrong.function, wrong.role, wrong.library, 1)
        assert wrong.code in {finding.rule.code for finding in again.findings}
    if FIRST[wrong.code] is wrong:
        _reads_as_it_did(wrong.code, [finding.to_json() for finding in found])


def _reads_as_it_did(code, findings):
    path, text = GOLDEN / f"{code}.json", json.dumps(findings, indent=1, ensure_ascii=False) + "\n"
    if REGENERATE:
        path.write_text(text, encoding="utf-8", newline="\n")
    assert _without_digits(text) == _without_digits(path.read_text(encoding="utf-8"))


def _without_digits(text):
    """Measured errors are rounding: their last digits are the machine's."""
    lines = [f"{finding['code']} {finding['message']}" for finding in json.loads(text)]
    return "\n".join("".join(each for each in line if not each.isdigit() and each not in "+-.e") for line in lines)


def test_every_rule_has_its_defect():
    """A rule without a test case may never fire."""
    codes = {rule.code for rule in rules.families["TEXTS"].rules}
    assert set(FIRST) | (set() if HAS_TORCH else {"RP881"}) == codes == {path.stem for path in GOLDEN.glob("*.json")}


def test_half_turns_are_rotations_by_half_a_turn_and_what_is_no_rotation_is_told():
    """Simple formulas divide by zero at half turns; a mirror, a stretch and a NaN must not count as a rotation."""
    turns, exact = half_turns(), 16 * 2.0**-53
    axes, thirds = ([1, -1, -1], [-1, 1, -1], [-1, -1, 1]), [[-1, -2, 2], [-2, -1, -2], [2, -2, -1]]
    expected = [*map(np.diag, axes), [[0, 1, 0], [1, 0, 0], [0, 0, -1]], np.array(thirds) / 3]
    np.testing.assert_allclose(turns, expected, rtol=0, atol=2 * exact)
    assert defect(turns).max() <= exact
    mirror, stretch, nan = np.diag([1.0, 1.0, -1.0]), 1.01 * np.eye(3), np.full((3, 3), np.nan)
    assert defect(np.eye(3)) == 0.0
    assert (defect(np.stack([mirror, stretch, nan])) > 0.02).all()


# ---- whatever a function does, the answer is a findings report: not a pass, not an error of rigpact


def _changed(change):
    return lambda sound: lambda *arrays: change(sound(*arrays))


def _dies_later(sound):
    calls: list[int] = []

    def function(*arrays):
        calls.append(1)
        if len(calls) > 3:
            raise RuntimeError("out of memory")
        return sound(*arrays)

    return function


def _endless(sound):
    def function(*arrays):
        return function(*arrays)

    return function


WRONG = {
    "NaN": _changed(lambda value: value * np.nan),
    "zeros": _changed(lambda value: value * 0),
    "infinity": _changed(lambda value: value * 0 + np.inf),
    "beyond float32": _changed(lambda value: value * 1e300),
    "truth values": _changed(lambda value: value > 0),
    "bytes": _changed(lambda value: np.abs(value).astype(np.uint8)),
    "Python objects": _changed(lambda value: np.asarray(value).astype(object)),
    "one row": _changed(lambda value: value[0]),
    "no row": _changed(lambda value: value[:0]),
    "an axis more": _changed(lambda value: value[None]),
    "a pair": _changed(lambda value: (value, value)),
    "nothing": _changed(lambda value: None),
    "its input": lambda sound: lambda *arrays: arrays[0] + 0,
    "noise": lambda sound: lambda *arrays: np.random.default_rng().normal(size=np.shape(sound(*arrays))),
    "dies later": _dies_later,
    "endless recursion": _endless,
    "no parameter": lambda sound: lambda: 1,
}
PAIRS = [(role, name) for place, role in enumerate(ROLES) for name in [*WRONG][place % 3 :: 3]]


@every_case(("role", "name"), PAIRS)
def test_a_wrong_function_is_a_finding(role, name):
    """A broken function must not stop the checks of the other functions, and must not pass: 2 where no call of it answers."""
    wrong = WRONG[name](getattr(sound_numpy, role))
    if ROLES[role].timed and name != "no parameter":
        plain = wrong

        def wrong(R_seq, fps):
            return plain(R_seq, fps)

    report = examined(wrong, role)
    assert report.exit_code(strict=True) in (1, 2)
    assert report.findings
    assert "" not in {finding.message for finding in report.findings}
    report.to_json()


# ---- the command


@pytest.fixture
def geometry(command):
    """Run `rigpact check --module WORDS…`."""
    return lambda *words: command("check", "--module", *words)


@pytest.fixture
def module_file(tmp_path):
    """A user's module; the sound functions are available as `sound`."""

    def write(body):
        path = tmp_path / "their_geometry.py"
        head = f"import sys\nsys.path.insert(0, {str(SUBJECTS)!r})\nimport numpy as np\nimport sound_numpy as sound\n"
        path.write_text(head + body, "utf-8")
        return path

    return write


def codes(answer):
    """The codes of the findings of a JSON answer."""
    return [finding["code"] for finding in json.loads(answer.out)["findings"]]


@pytest.mark.parametrize(("name", "seed"), [
    ("sound_numpy.py", 0), ("sound_torch.py", 0), ("sound_numpy.py", 1), ("sound_torch.py", 2),
])  # fmt: skip
def test_a_sound_module_has_no_finding(geometry, name, seed):
    """Users switch off a test with false alarms. Where the module imports torch, it is given tensors."""
    if "torch" in name:
        pytest.importorskip("torch", reason="the extra [training] is not installed: no torch function is examined")
    answer = geometry(SUBJECTS / name, "--seed", seed, "--strict", "--format", "json")
    report = json.loads(answer.out)
    assert [finding["message"] for finding in report["findings"]] == []
    assert (answer.status, report["verdict"], report["ledger"]["missing"]) == (0, "pass", 0)
    functions = report["summary"]["functions"]
    assert [each["role"] for each in functions] == list(ROLES)
    assert {each["library"] for each in functions} == {"torch" if "torch" in name else "numpy"}
    if "torch" in name:
        assert {each["behaviour"]["gradient"] for each in functions} == {"finite"}


def test_the_training_side_of_the_demo_has_its_known_defects(geometry):
    """It has the deployed side's: an inexact acos, and axes that collapse where the engine replaces them; twice the same."""
    pytest.importorskip("torch", reason="the extra [training] is not installed: the training side cannot be imported")
    words = ("rigpact.training.enemy_geometry", "--format", "json", "--seed", 3)
    plain, declared = geometry(*words), geometry(*words, "--set", "degenerate_axis=zero")
    assert (plain.status, set(codes(plain))) == (0, {"RP867", "RP871"})
    assert (declared.status, codes(declared)) == (0, ["RP867"])
    assert geometry(*words).out == plain.out


def test_functions_are_found_by_name_and_by_mapping(geometry, module_file):
    """Users do not rename their training functions for a test; what a module prints does not spoil the answer."""
    path = module_file(
        "print('loading')\nrotation_6d_to_matrix = sound.rot6d_to_matrix\nclass Rotations:\n    @staticmethod\n"
        "    def logarithm(R):\n        print('called')\n        return sound.so3_log_map(R)\n"
    )
    answer = geometry(path, "--map", "so3_log_map=Rotations.logarithm", "--format", "json")
    assert [(each["role"], each["function"]) for each in json.loads(answer.out)["summary"]["functions"]] == [
        ("rot6d_to_matrix", "rotation_6d_to_matrix"), ("so3_log_map", "Rotations.logarithm"),
    ]  # fmt: skip
    assert (answer.status, "loading" in answer.err) == (0, True)


@every_case(("body", "words"), [
    ("def matrix_to_rot6d(R):\n    return np.concatenate([R[..., 0, :], R[..., 1, :]], -1)\n", "rot6d_packing=rows"),
    ("def matrix_to_rot6d(R):\n    return np.concatenate([R[..., :, 0], R[..., :, 1]], -1)\n", "rot6d_columns=xy"),
    ("def matrix_to_quat(R):\n    return sound.matrix_to_quat(R)[..., [3, 0, 1, 2]]\n", "quaternion_order=wxyz"),
    ("def normalize_rot6d_delta(x):\n    return sound.reproject_rot6d(x)\n", "output_mode=delta"),
    ("def angvel_vec_from_R_seq(R, fps):\n    return sound.angvel_vec_from_R_seq(R, fps) / 2\n", "angvel_angle=half"),
])  # fmt: skip
def test_a_declared_convention_is_no_finding(geometry, module_file, body, words):
    """A declared convention of another studio is not a finding; under it, our default is wrong."""
    path = module_file(body)
    assert (geometry(path).status, geometry(path, "--set", words).status) == (1, 0)


@every_case(("axes", "computed", "is_sound"), [
    ("sxyz", "angles[..., ::-1], 'ZYX'", True), ("sxyz", "angles, 'XYZ'", False),
    ("rxyz", "angles, 'XYZ'", True), ("rxyz", "angles[..., ::-1], 'ZYX'", False),
])  # fmt: skip
def test_an_order_of_static_or_rotating_axes_is_what_it_says(geometry, module_file, axes, computed, is_sound):
    """`sxyz` turns about fixed axes, `rxyz` about the body's own: the other one bends every joint otherwise."""
    body = f"def euler_to_matrix(angles, axes={axes!r}):\n    return sound.euler_to_matrix({computed})\n"
    assert (geometry(module_file(body)).status == 0) is is_sound


@every_case(("factor", "fact"), [(1, "kept"), (1e5, "kept, off by more than rounding")])
def test_half_precision_that_overflows_is_told(geometry, module_file, factor, fact):
    """A network that runs in float16 gets infinity where training had a rotation."""
    body = f"def quat_mul(a, b):\n    return sound.quat_mul(a * {factor}, b) / {factor}\n"
    answer = geometry(module_file(body), "--format", "json")
    assert json.loads(answer.out)["summary"]["functions"][0]["behaviour"]["float16"] == fact


def test_the_columns_of_a_bundle_hold_and_a_period_is_no_rate(geometry, module_file, demo_bundle, tmp_path):
    """The bundle already declares its columns; `dt` is seconds per frame, not frames per second."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["meta"]["rot6d_spec"]["columns"] = ["X", "Y"]
    (tmp_path / "norm_template.json").write_text(json.dumps(document), encoding="utf-8")
    path = module_file("def matrix_to_rot6d(R):\n    return np.concatenate([R[..., :, 0], R[..., :, 1]], -1)\n")
    assert geometry(path, "--contract", tmp_path / "norm_template.json").status == 0
    assert geometry(path, "--contract", demo_bundle / "norm_template.json").status == 1
    period = "def angvel_vec_from_R_seq(R, dt):\n    return sound.angvel_vec_from_R_seq(R, 1 / dt)\n"
    assert geometry(module_file(period)).status == 0


NUMPY = SUBJECTS / "sound_numpy.py"
LEADS_NOWHERE = (
    ("import no_such_package\n", (), "ModuleNotFoundError: No module named 'no_such_package'"),
    ("def broken(:\n", (), "SyntaxError"),
    ("1 / 0\n", (), "ZeroDivisionError: division by zero"),
    ("raise SystemExit(0)\n", (), "SystemExit: 0"),
    ("def unrelated(x):\n    return x\n", (), "no function that plays a known role"),
    ("so3_log_map = 3\n", (), "no function that plays a known role"),
    ("", ("no/such/file.py",), "existing file"),
    ("", ("no_such_package.module",), "ModuleNotFoundError"),
    ("", (NUMPY, "--map", "so3_log_map"), "ROLE=FUNCTION"),
    ("", (NUMPY, "--map", "so3_log=f"), "did you mean so3_log_map?"),
    ("", (NUMPY, "--map", "so3_log_map=so3_log_mop"), "near it: so3_log_map"),
    ("", (NUMPY, "--set", "rot6d_columns=ab"), "one of xz"),
)


@every_case(("body", "words", "says"), LEADS_NOWHERE, ids=lambda _each: "")
def test_what_cannot_be_tested_is_one_clear_line(geometry, module_file, body, words, says):
    """A module without any test must not look like a pass; a mistyped mapping that is ignored leaves a function untested."""
    answer = geometry(*(words or (module_file(body),)))
    assert (answer.status, answer.out, answer.err.count("\n"), says in answer.err) == (2, "", 1, True), answer.err


RESULTS = (
    "sys.exit(0)", "quit()", "'text'", "None", "np.array(['a'])", "sound.so3_log_map(R).astype(complex)",
    "sound.so3_log_map(R).astype(object)", "R[..., :0]", "{}",
)  # fmt: skip


@every_case("result", RESULTS)
def test_a_function_that_leaves_or_answers_no_vector_is_told(geometry, module_file, result):
    """A forgotten `exit()` must not end the gate with status 0; for any result, the answer is a finding."""
    answer = geometry(module_file(f"def so3_log_map(R):\n    return {result}\n"), "--format", "json")
    assert (answer.status, codes(answer)) == (2, ["RP883"])
    assert json.loads(answer.out)["ledger"]["missing"] > 0


@every_case(("words", "status", "says"), [
    (["--strict"], 0, "PASS: 0 errors"), (["--backend", "torch"], 2, "--backend torch"),
])  # fmt: skip
def test_numpy_functions_need_no_torch(tmp_path, words, status, says):
    """Where torch is not installed numpy functions are judged; with numpy for torch another function would be tested."""
    code = (
        "import sys; sys.modules['torch'] = None\nfrom rigpact.reports.command_line import run_command_line\n"
        f"sys.exit(run_command_line(['check', '--module', {str(NUMPY)!r}, *{words!r}]))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, says in done.stdout + done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr
