"""`rigpact check --module` with other people's modules: found by name or by mapping, under other conventions, broken."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SUBJECTS = Path(__file__).parent / "subjects"
ModuleFile = Callable[[str], Path]
Geometry = Callable[..., Any]


def test_functions_are_found_by_name_and_by_mapping(geometry: Geometry, module_file: ModuleFile) -> None:
    """Users do not rename their training functions for a test."""
    path = module_file(
        "rotation_6d_to_matrix = sound.rot6d_to_matrix\n"
        "class Rotations:\n    @staticmethod\n    def logarithm(R):\n        return sound.so3_log_map(R)\n"
    )

    answer = geometry(path, "--map", "so3_log_map=Rotations.logarithm", "--format", "json")

    functions = json.loads(answer.out)["summary"]["functions"]
    assert [(each["role"], each["function"]) for each in functions] == [
        ("rot6d_to_matrix", "rotation_6d_to_matrix"),
        ("so3_log_map", "Rotations.logarithm"),
    ]
    assert answer.status == 0


def test_a_half_angle_log_is_called_that(geometry: Geometry, module_file: ModuleFile) -> None:
    """The deployed training side had one for a year: every angular velocity was half."""
    answer = geometry(module_file("def so3_log_map(R):\n    return sound.so3_log_map(R) / 2\n"))

    assert answer.status == 1
    assert "so3_log_map returns half the angle: measured ratio 0.5000" in answer.out
    assert "FAIL: 1 error, 0 warnings" in answer.out


@pytest.mark.parametrize(
    ("body", "settings"),
    [
        ("def matrix_to_rot6d(R):\n    return sound.np.concatenate([R[..., 0, :], R[..., 1, :]], -1)\n", "rot6d_packing=rows"),
        ("def matrix_to_rot6d(R):\n    return sound.np.concatenate([R[..., :, 0], R[..., :, 1]], -1)\n", "rot6d_columns=xy"),
        ("def matrix_to_quat(R):\n    return sound.matrix_to_quat(R)[..., [3, 0, 1, 2]]\n", "quaternion_order=wxyz"),
        ("def normalize_rot6d_delta(x):\n    return sound.reproject_rot6d(x)\n", "output_mode=delta"),
        ("def angvel_vec_from_R_seq(R, fps):\n    return sound.angvel_vec_from_R_seq(R, fps) / 2\n", "angvel_angle=half"),
    ],
    ids=lambda value: value if "=" in value and "\n" not in value else "",
)  # fmt: skip
def test_a_declared_convention_is_no_finding(
    geometry: Geometry, module_file: ModuleFile, body: str, settings: str
) -> None:
    """A declared convention of another studio is not a finding; under it, our default is wrong."""
    path = module_file(body)

    assert geometry(path).status == 1
    assert geometry(path, "--set", settings).status == 0


def test_the_columns_of_a_bundle_hold(
    geometry: Geometry, module_file: ModuleFile, demo_bundle: Path, tmp_path: Path
) -> None:
    """The bundle already declares its columns; users must not declare them again."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["meta"]["rot6d_spec"]["columns"] = ["X", "Y"]
    bundle = tmp_path / "norm_template.json"
    bundle.write_text(json.dumps(document), encoding="utf-8")
    path = module_file("def matrix_to_rot6d(R):\n    return sound.np.concatenate([R[..., :, 0], R[..., :, 1]], -1)\n")

    assert geometry(path, "--contract", bundle).status == 0
    assert geometry(path, "--contract", demo_bundle / "norm_template.json").status == 1


def test_a_period_is_taken_for_what_it_is(geometry: Geometry, module_file: ModuleFile) -> None:
    """`dt` is seconds per frame, not frames per second; the check must not confuse them."""
    path = module_file("def angvel_vec_from_R_seq(R, dt):\n    return sound.angvel_vec_from_R_seq(R, 1 / dt)\n")

    assert geometry(path).status == 0


def test_what_a_module_prints_does_not_spoil_the_answer(geometry: Geometry, module_file: ModuleFile) -> None:
    """The JSON goes to a machine; the debugging print of a colleague must not."""
    path = module_file("print('loading')\ndef so3_log_map(R):\n    print('called')\n    return sound.so3_log_map(R)\n")

    answer = geometry(path, "--format", "json")

    assert (answer.status, answer.codes) == (0, [])
    assert "loading" in answer.err


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("import no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("def broken(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)\n", "SystemExit: 0"),
        ("def unrelated(x):\n    return x\n", "no function that plays a known role"),
        ("so3_log_map = 3\n", "no function that plays a known role"),
    ],
    ids=["missing package", "syntax", "raises", "exits", "nothing known", "no function"],
)
def test_a_module_that_cannot_be_tested_is_one_clear_line(
    geometry: Geometry, module_file: ModuleFile, body: str, says: str
) -> None:
    """A module without any test must not look like a pass, and a traceback does not help."""
    answer = geometry(module_file(body))

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert says in answer.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no/such/file.py",), "existing file"),
        (("no_such_package.module",), "ModuleNotFoundError"),
        ((SUBJECTS / "sound_numpy.py", "--map", "so3_log_map"), "ROLE=FUNCTION"),
        ((SUBJECTS / "sound_numpy.py", "--map", "so3_log=f"), "'so3_log_map' was meant?"),
        ((SUBJECTS / "sound_numpy.py", "--map", "so3_log_map=so3_log_mop"), "near it: so3_log_map"),
        ((SUBJECTS / "sound_numpy.py", "--set", "rot6d_columns=ab"), "one of xz"),
    ],
    ids=["no file", "no package", "no equals", "no role", "no function", "no column"],
)
def test_a_word_that_leads_nowhere_is_one_clear_line(geometry: Geometry, words: tuple[Any, ...], says: str) -> None:
    """A mistyped mapping that is ignored leaves the function untested."""
    answer = geometry(*words)

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert says in answer.err


@pytest.mark.parametrize("way", ["raise SystemExit(0)", "sys.exit(0)", "quit()"])
def test_a_function_that_leaves_is_no_pass(geometry: Geometry, module_file: ModuleFile, way: str) -> None:
    """A forgotten `exit()` in the module must not end the gate with status 0."""
    answer = geometry(module_file(f"def so3_log_map(R):\n    {way}\n"), "--format", "json")

    assert (answer.status, answer.codes) == (2, ["RP883"])
    assert json.loads(answer.out)["ledger"]["missing"] > 0


@pytest.mark.parametrize(
    "result",
    [
        "'text'",
        "None",
        "sound.np.array(['a'])",
        "sound.so3_log_map(R).astype(complex)",
        "sound.so3_log_map(R).astype(object)",
        "R[..., :0]",
        "{}",
    ],
)
def test_a_result_that_is_no_rotation_vector_is_told(geometry: Geometry, module_file: ModuleFile, result: str) -> None:
    """For any result, the answer is a finding, not an error of rigpact."""
    answer = geometry(module_file(f"def so3_log_map(R):\n    return {result}\n"), "--format", "json")

    assert (answer.status, answer.codes) == (2, ["RP883"])


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=folder, env=env)


def test_numpy_functions_need_no_torch(tmp_path: Path) -> None:
    """Where torch is not installed, and where importing it would cost seconds."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from rigpact.reports.command_line import run_command_line\n"
        f"sys.exit(run_command_line(['check', '--module', {str(SUBJECTS / 'sound_numpy.py')!r}, '--strict']))"
    )
    done = run_python(code, tmp_path)

    assert done.returncode == 0, done.stderr
    assert "PASS: 0 errors" in done.stdout


def test_torch_that_is_asked_for_and_absent_is_one_clear_line(tmp_path: Path) -> None:
    """With numpy instead of torch, another function than the training's would be tested."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from rigpact.reports.command_line import run_command_line\n"
        f"sys.exit(run_command_line(['check', '--module', {str(SUBJECTS / 'sound_numpy.py')!r}, '--backend', 'torch']))"
    )
    done = run_python(code, tmp_path)

    assert done.returncode == 2
    assert "--backend torch" in done.stderr
    assert "Traceback" not in done.stderr


def test_tensors_are_fed_where_the_module_imports_torch(geometry: Geometry) -> None:
    """A torch function may fail on numpy arrays, or give another result."""
    pytest.importorskip("torch")

    answer = geometry(SUBJECTS / "sound_torch.py", "--format", "json")

    functions = json.loads(answer.out)["summary"]["functions"]
    assert {each["library"] for each in functions} == {"torch"}
    assert {each["behaviour"]["gradient"] for each in functions} == {"finite"}
