"""Projects, their settings, files of a commit, outputs and models

One corpus: each case changes the demo's project, asks command lines, and knows exit statuses and words. What ends with 2 leaves
every file as it was.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest
import yaml
from onnx import TensorProto, helper, numpy_helper

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.table import refuse_far_day
from rigpact.reference_runtime import write_trace
from rigpact.reports.command_line import run_command_line
from rigpact.reports.gate import status
from rigpact.reports.renderers import FORMATS

from ..every_case import every_case
from ..golden_findings import check_golden
from ..soon import SOON
from .recorded_demo import recorded
from .tried import tries

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes and symbolic links")
CHECKOUT = Path(__file__).parents[2]
BUNDLE, COMPANION, MODEL = "norm_template.json", "pretrain_template.json", "model.onnx"
CLIP, PREDICTION = "clips/Sneak_Turn.json", "teacher_predictions/Sneak_Turn_prediction.json"
ONLY = f'[gate]\nbundle = "{BUNDLE}"\nfree-run = false\n'
GATE = f'{ONLY}companion = "{COMPANION}"\n'
WHOLE = f'{GATE}model = "{MODEL}"\n'
TAUGHT = f'{WHOLE}[[gate.teacher]]\nfile = "{PREDICTION}"\nclip = "{CLIP}"\nname = "sneak"\n'
RUNS = TAUGHT.replace("free-run = false", f'frames = 20\nfree-run = "{CLIP}"\nclips = ["{CLIP}"]')
RUNS += "[gate.budget]\ninference-us = 1e9\n"
OUTSIDE = "outside of the repository"
SECRET = "hunter2"  # noqa: S105 - of nobody
PRIVATE = f"machine github.com login ana\nmachine b {SECRET}\n"
NEVER = (SECRET, "github.com", "names-of-people")


class Project(NamedTuple):
    """The folder in which commands run, beside a folder of secrets."""

    folder: Path
    patch: pytest.MonkeyPatch


Step = Callable[[Project], object]


class Case(NamedTuple):
    """asked: command lines and their exit statuses. says, never: words of each answer and of every file of `files`."""

    steps: Sequence[Step]
    asked: Mapping[str, int]
    says: Sequence[str] = ()
    never: Sequence[str] = ()
    files: Sequence[str] = ()


def write(name: str, text: str | bytes, encoding: str = "utf-8") -> Step:
    def step(project: Project) -> None:
        (project.folder / name).parent.mkdir(exist_ok=True)
        (project.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode(encoding))

    return step


def settings(text: str) -> Step:
    return write("rigpact.toml", text)


def changed(name: str, change: Callable[[Any], object]) -> Step:
    """The change of what a JSON file holds."""

    def step(project: Project) -> None:
        document = json.loads((project.folder / name).read_text(encoding="utf-8"))
        change(document)
        (project.folder / name).write_text(json.dumps(document), encoding="utf-8")

    return step


def replaced(name: str, old: str, new: str) -> Step:
    def step(project: Project) -> None:
        text = (project.folder / name).read_text(encoding="utf-8")
        assert old in text
        (project.folder / name).write_text(text.replace(old, new), encoding="utf-8")

    return step


def halved(name: str, encoding: str = "utf-8") -> Step:
    def step(project: Project) -> None:
        text = (project.folder / name).read_text(encoding="utf-8")
        (project.folder / name).write_text(text[: len(text) // 2], encoding=encoding)

    return step


def gone(name: str) -> Step:
    def step(project: Project) -> None:
        path = project.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return step


def ran(words: str, status: int = 0) -> Step:
    def step(_project: Project) -> None:
        assert run_command_line(words.split()) == status

    return step


BROKEN = changed(BUNDLE, lambda bundle: bundle["StdX"].__setitem__(17, 0))
"""A deviation of zero: RP104."""

# --- settings ---

DEBT = f'owner = "Ana"\nreason = "the spine is rebuilt"\nexpires = "{SOON}"\n'
LOWERED = f'[[lower]]\nrule = "RP104"\nto = "info"\n{DEBT}'
DISARMING = {
    'ignore = ["RP"]\n': "[[lower]] with rule, to, owner, reason and expires",
    'select = ["RP070"]\n': "[[lower]] with rule, to, owner, reason and expires",
    '[[per-path]]\npaths = ["*"]\nignore = ["RP1"]\n': "[[lower]] with rule, to, owner, reason and expires",
    '[severity]\nRP = "info"\n': "raises nothing", '[severity]\nRP104 = "warning"\n': "lower with [[lower]]",
    LOWERED.replace("RP104", "RP"): "a family cannot be lowered", LOWERED.replace("RP104", "RP1"): "a family cannot be lowered",
    LOWERED.replace("RP104", "RP950"): "the exceptions of the project's settings",
    LOWERED + 'paths = ["*"]\n': "all files: no `paths`", LOWERED.replace('owner = "Ana"\n', ""): "no owner",
    LOWERED.replace('reason = "the spine is rebuilt"\n', ""): "no reason",
    LOWERED.replace(f'expires = "{SOON}"\n', ""): "no expires",
}  # fmt: skip
KNOWN = f"check {BUNDLE} --write-baseline known.json --owner Ana --reason soon --expires"
WITH_KNOWN = settings('baseline = "known.json"\n' + GATE)
OTHERS_FINGERPRINT = changed(
    "known.json", lambda known: next(each for each in known["findings"] if each["code"] == "RP104").update(code="RP131")
)
WITHOUT_END = (
    ((settings(LOWERED.replace(SOON, "9999-12-31") + GATE),), "lower[0].expires"),
    ((settings(f'{GATE}[[gate.waive]]\npart = "files"\n{DEBT.replace(SOON, "9999-12-31")}'),), "gate.waive[0].expires"),
    ((ran(f"{KNOWN} {SOON}"), replaced("known.json", SOON, "9999-12-31"), WITH_KNOWN), "known.json#/findings/0/expires"),
)  # fmt: skip
UNREACHABLE = (
    ("thresholds/tolerance-factor", "1e30"), ("thresholds/tolerance-factor", "8193"), ("thresholds/adequacy-margin", "1e-9"),
    ("thresholds/adequacy-margin", "1001"), ("budget/inference-margin", "1e9\ninference-us = 1e9"),
)  # fmt: skip
# --- what is missing ---

WAIVED = f'[[gate.waive]]\npart = "model"\n{DEBT}'


def not_installed(project: Project) -> None:
    def installed(name: str) -> str:
        if name == "onnx":
            raise PackageNotFoundError(name)
        return version(name)

    project.patch.setattr(status, "version", installed)


# --- paths ---

PATHS = {
    "trace": '[[gate.trace]]\nfile = "{}"\nclip = "clips/Sneak_Turn.json"\n',
    "trace's clip": '[[gate.trace]]\nfile = "norm_template.json"\nclip = "{}"\n',
    "teacher": '[[gate.teacher]]\nfile = "{}"\n', "clips": 'clips = ["{}"]\n', "bundle": 'bundle = "{}"\n',
    "companion": 'companion = "{}"\n', "model": 'model = "{}"\n', "free run": 'free-run = "{}"\n',
    "change record": 'change-record = "{}"\n',
}  # fmt: skip


def at(key: str, word: str) -> Step:
    """Settings of which one path is this."""
    own = PATHS[key].format(word)
    return settings("".join(line for line in ONLY.splitlines(keepends=True) if line.split(" =")[0] not in own) + own)


def linked(name: str, target: str) -> Step:
    return lambda project: (project.folder / name).symlink_to(target)


def own_file(name: str) -> Step:
    is_json = name.endswith((".json", ".jsonl"))
    text = f'{{"{SECRET}": [["{SECRET}"]]}}\n{{"other": 1}}\n' if is_json else f"{SECRET},b\n1,{SECRET}\n"
    return write(name, text)


def in_a_repository(project: Project) -> None:
    (project.folder / ".git").mkdir()
    write("enemy/rigpact.toml", ONLY.replace(BUNDLE, f"../{BUNDLE}"))(project)


# --- files of a commit, outputs ---

COMMENTED = write("tsconfig.json", '{\n  // a comment, as editors write them\n  "compilerOptions": {}\n}\n')
POINTER = write(MODEL, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
HOOK = yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]
HOOKED = " ".join([*HOOK["entry"].split()[1:], *HOOK["args"]])
AN_OPTION = "--module=theirs.json"


def named_as_an_option(project: Project) -> None:
    write("theirs/json.py", f"raise SystemExit('{SECRET}')")(project)
    shutil.copy(project.folder / BUNDLE, project.folder / AN_OPTION)


def writing(target: str) -> dict[str, str]:
    return {
        "run": f"run --contract {BUNDLE} --onnx {MODEL} {CLIP} --frames 2 -o {target}",
        "codegen": f"codegen {BUNDLE} -o {target}", "gate": f"gate --report json={target}",
    }  # fmt: skip


def pipe(project: Project) -> None:
    os.mkfifo(project.folder / "out.json")


# --- models ---

Edit = Callable[[Any], object]
Tail = tuple[str, str, str]


def model(edit: Edit) -> Step:
    """The change of the demo's model."""

    def step(project: Project) -> None:
        path = project.folder / MODEL
        held = onnx.load(str(path))
        edit(held)
        path.write_bytes(held.SerializeToString())

    return step


def tail(*nodes: Tail, dtype: int | None = None, **weights: Any) -> Edit:
    """Nodes (operator, inputs, output) after the model's answer, which is called `answer` then."""

    def edit(held: Any) -> None:
        end = held.graph.output[0]
        next(node for node in held.graph.node if end.name in node.output).output[0] = "answer"
        for op, inputs, output in nodes:
            keys = {"to": dtype} if op == "Cast" else {}
            held.graph.node.append(helper.make_node(op, inputs.split(), [output], name=output, **keys))
        held.graph.node.append(helper.make_node("Identity", [nodes[-1][2]], [end.name]))
        held.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), name) for name, v in weights.items())
        end.type.tensor_type.elem_type = dtype or end.type.tensor_type.elem_type

    return edit


def weight(name: str, change: Callable[[Any], Any]) -> Edit:
    def edit(held: Any) -> None:
        tensor = next(each for each in held.graph.initializer if each.name == name)
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(change(numpy_helper.to_array(tensor).copy())), name))

    return edit


def read_in_place(old: str, new: str, value: float) -> Edit:
    """Every node that reads a value reads another one: a constant, or for an input the product with it."""

    def edit(held: Any) -> None:
        for node in held.graph.node:
            node.input[:] = [new if name == old else name for name in node.input]
        held.graph.initializer.append(numpy_helper.from_array(np.float32(value), "own"))
        held.graph.node.insert(0, helper.make_node("Mul", [old, "own"] if new == "silent" else ["own", "own"], [new]))

    return edit


def batch_of_four(held: Any) -> None:
    for entry in (*held.graph.input, *held.graph.output):
        entry.type.tensor_type.shape.dim[0].Clear()
        entry.type.tensor_type.shape.dim[0].dim_value = 4


def no_outputs(held: Any) -> None:
    del held.graph.output[:]


def six_inputs(held: Any) -> None:
    held.graph.input.append(helper.make_tensor_value_info("extra", TensorProto.FLOAT, ["B", 3]))


INFINITE = np.float32(-np.inf)
DROPOUT = tail(("Dropout", "answer ratio training", "z"), ratio=np.float32(0.1), training=True)
HUGE = tail(("Mul", "answer huge", "z"), huge=np.float32(1e27))
DEFECTS: dict[str, tuple[Edit, str]] = {
    "dropout in training mode": (DROPOUT, "RP426"),
    "a NaN among the weights": (weight("hidden.weight", lambda w: np.where(w == w.flat[1234], np.nan, w)), "RP429"),
    "an input multiplied by zero": (read_in_place("angvel", "silent", 0.0), "RP801"),
    "a layer that was never trained": (weight("output.weight", np.zeros_like), "RP801"),
    "an activation that was lost": (read_in_place("sigmoid", "one", 1.0), "RP801"),
    "0/0 at the output": (tail(("Mul", "answer none", "no"), ("Div", "no none", "z"), none=np.float32(0)), "RP801"),
}  # fmt: skip
"""Two that a rule of the file names, and what no rule can see: what training recorded shows it."""
FAILING: tuple[Edit, ...] = (
    batch_of_four, no_outputs, six_inputs, tail(("Reshape", "answer shape", "z"), shape=np.array([7, 11], np.int64)),
    tail(("Cast", "answer", "z"), dtype=TensorProto.INT64), tail(("Cast", "answer", "z"), dtype=TensorProto.DOUBLE),
)  # fmt: skip
"""Models of which no run exists."""
NOT_FINITE = (
    tail(("Mul", "answer scale", "z"), scale=INFINITE), tail(("Add", "answer offset", "z"), offset=np.float32(np.nan)),
)  # fmt: skip
MASKED = tail(("Max", "answer floor", "z"), floor=INFINITE)

# --- projects without a model ---

OUTPUT = "network_output.json"
INPUTS = ("state", "cond", "contacts", "angvel", "pose_hist")
CHECKED = f"check {BUNDLE} {CLIP} {PREDICTION} {OUTPUT} --companion {COMPANION}"
TRACED = f'{GATE}[[gate.trace]]\nfile = "run.trace.jsonl"\nclip = "{CLIP}"\nframes = 24\n'
DAMAGES: tuple[Edit, ...] = (
    lambda answer: [rows.reverse() for rows in answer["prediction"].values() if rows],
    lambda answer: [rows.insert(0, rows.pop()) for rows in answer["prediction"].values() if rows],
    lambda answer: answer.pop("prediction"), lambda answer: answer.update(predictions=answer.pop("prediction")),
)  # fmt: skip
"""Rows reversed, one frame late, dropped, renamed."""


def answered_and_gone(project: Project) -> None:
    """What onnxruntime answers to the inputs that the prediction recorded, in a file beside it; the model is gone then."""
    prediction = json.loads((project.folder / PREDICTION).read_text(encoding="utf-8"))
    teacher = prediction["teacher"]
    aux = teacher.get("aux_inputs") or prediction["aux_inputs"]
    rows = (teacher["state_norm"], teacher["cond"], aux["contacts"], aux["angvel_norm"], aux["pose_hist_norm"])
    fed = {name: np.array(values, np.float32) for name, values in zip(INPUTS, rows, strict=True)}
    answer = onnxruntime.InferenceSession(str(project.folder / MODEL)).run(None, fed)[0]
    del prediction["diagnostics"]
    document = prediction | {"prediction": {"y_norm": answer.tolist(), "y_raw": None}}
    (project.folder / OUTPUT).write_text(json.dumps(document), encoding="utf-8")
    (project.folder / MODEL).unlink()


def traced(off: float = 0.0) -> Step:
    """An engine's recording of 24 frames; one number of delta6d is off."""

    def step(project: Project) -> None:
        trace = recorded()
        delta = trace.stages["delta6d"].copy()
        delta[5, 3] += off
        write_trace(replace(trace, stages={**trace.stages, "delta6d": delta}), project.folder / "run.trace.jsonl")

    return step


# --- nan ---

NAN = f"nan --contract {BUNDLE} --companion {COMPANION} --onnx {MODEL}"
WRONG = (
    f"{CLIP} --mode teacher --perturb state@2=nan", f"{CLIP} --mode teacher --floor-contacts", f"{CLIP} --mode teacher --drift",
    f"{CLIP} --perturb seed-1ulp --floor-contacts", f"{CLIP} --perturb seed-1ulp --drift", f"{CLIP} --perturb state@700",
    f"{CLIP} --frames 9 --perturb ring-slot@9", f"{CLIP} --frames 9 --perturb state@3:99999",
    f"{CLIP} --frames 9 --perturb no-std-floor@3", "run.trace.jsonl --frames 9", "run.trace.jsonl --perturb state@2=nan",
)  # fmt: skip
"""The run has 600 frames; there is no such channel; a floor holds from the first frame on."""


def recording(factor: float = 1.0) -> Step:
    """Five frames of a free run; the network's answers times a factor."""

    def step(project: Project) -> None:
        trace = recorded("free", 5)
        far = trace.stages["y_norm"] * np.float32(factor)
        write_trace(replace(trace, stages={**trace.stages, "y_norm": far}), project.folder / "run.trace.jsonl")

    return step


def absurd(bundle: Any) -> None:
    bundle["MuX"][0], bundle["StdX"][0] = 1.6e30, 1e-6


# --- the processed clips of a training ---

PROCESSED = f"check {BUNDLE} {COMPANION} clip.npz"
OF_PROCESSED = {"X_norm": "state_norm", "cond_in": "cond", "Y_norm": "target_norm"}


def processed(**edits: Any) -> Step:
    """The rows of the demo's teacher batch as the training's own .npz; edits replace arrays, None leaves one out."""

    def step(project: Project) -> None:
        batch = (CHECKOUT / "fixtures/bundles/demo/teacher_batches/Sneak_Turn_teacher.json").read_text(encoding="utf-8")
        arrays: dict[str, Any] = {
            name: np.array(json.loads(batch)["teacher"][key], "f4") for name, key in OF_PROCESSED.items()
        }
        arrays |= {"x_in_features": arrays["X_norm"], "bone_names": np.array([{"a": 1}], object)}
        arrays |= {name: edit(arrays[name]) if callable(edit) else edit for name, edit in edits.items()}
        np.savez(project.folder / "clip.npz", **{name: rows for name, rows in arrays.items() if rows is not None})

    return step


REFUSED: dict[str, tuple[str, list[Case]]] = {
    # what is tried -> the answer as docs/trust.md has it, and the cases
    "a line of the settings that silences a family of rules, all files, or one rule without owner, reason and day": (
        "exit 2; the error names the table to write instead",
        [Case([BROKEN, settings(line + GATE)], dict.fromkeys(("gate", f"check {BUNDLE}", f"check --each {BUNDLE}"), 2), [says])
         for line, says in DISARMING.items()]),
    "an error lowered with owner, reason and day": (
        "shown with all three in the answer of every format",
        [Case([BROKEN, settings(LOWERED + GATE)], {f"gate --report {name}=answer --html page.html": 0},
              ["RP954", "Ana", "the spine is rebuilt", SOON], files=["answer", "page.html"]) for name in FORMATS]),
    "a lowered error, a day after its last": (
        "RP952, and the error counts in full again",
        [Case([BROKEN, settings(LOWERED.replace(SOON, "2020-01-01") + GATE)], {"gate": 1},
              [f"1. error contract, {BUNDLE}#/StdX/17", "RP104", "2. error project, rigpact.toml#/lower/0", "RP952"])]),
    "an entry among the known findings that carries another finding's fingerprint": (
        "exit 2 with its place",
        [Case([BROKEN, ran(f"{KNOWN} {SOON}"), OTHERS_FINGERPRINT, WITH_KNOWN], {"gate": 2},
              ["/fingerprint: found the fingerprint of another finding"])]),
    "a waiver, a lowered rule or a known finding that ends in the year 9999": (
        "exit 2 with its place",
        [Case([BROKEN, *steps], {"gate": 2, "init --status": 2},
              [f"{place}: found '9999-12-31', expected a day at most a year ahead"]) for steps, place in WITHOUT_END]),
    "known findings written for longer than a year": ("exit 2, nothing is written", [Case([BROKEN], {f"{KNOWN} 9999-12-31": 2})]),
    "a threshold that nothing can reach, such as `tolerance-factor = 1e30`": (
        "RP977, exit 1",
        [Case([settings(WHOLE + "[gate.{}]\n{} = {}\n".format(*place.split("/"), value))], {"gate": 1},
              [f"error project, rigpact.toml#/gate/{place}", "RP977"]) for place, value in UNREACHABLE]),
    "a file that [gate] names and that is not there": (
        "exit 2; `rigpact init --status` says which part and how to get it",
        [Case([settings(WHOLE), gone(MODEL)], {"init --status": 2}, ["missing        model: model.onnx"]),
         Case([settings(WHOLE), gone(MODEL)], {"gate": 2}, [MODEL])]),
    "a project that asks nothing, or has no settings": (
        "`rigpact init --status` exits with 2 and names `rigpact init`",
        [Case(steps, {"init --status": 2}, ["`rigpact init` writes one"])
         for steps in ([], [settings('[severity]\nRP070 = "error"\n')])]),
    "a dependency of rigpact that is not installed": (
        "`rigpact init --status` exits with 2 and says how to get it",
        [Case([settings(WHOLE), not_installed], {"init --status": 2}, ["pip install 'onnx"])]),
    "a recording of the settings that is `../secret/x.txt`, or a link that leads out of the repository": (
        "exit 2, and no word of the file",
        [Case([at(key, word)], {f"gate --format {name}": 2 for name in ("text", "json", "sarif", "markdown", "github")},
              [OUTSIDE], NEVER)
         for key in ("trace", "teacher")
         for word in ("link.csv", "../private/netrc.txt", "../private/netrc.log", "linked/netrc.txt")]),
    "any other path of rigpact.toml that leads out of the repository": (
        "exit 2",
        [*(Case([at(key, "../private/netrc.txt")], {"gate": 2}, [OUTSIDE], NEVER) for key in PATHS),
         Case([settings(f'baseline = "../private/netrc.txt"\n{ONLY}')], {"gate": 2}, [OUTSIDE], NEVER),
         Case([linked("rigpact.toml", "../private/netrc.txt")], {"gate": 2}, [], NEVER)]),
    "a pattern of clips that leads out of the repository": (
        "exit 2, and no name of a file",
        [Case([at("clips", word)], {"gate": 2}, [], NEVER)
         for word in ("../private/*", "/etc/*", "/**/*.json", "*/../../private/*", "linked/*", "link*", "linked")]),
    "a file of the repository that is not a recording, named as one": (
        "exit 2: its place, and no word of it",
        [*(Case([own_file(name)], {f"explain {name} --contract {BUNDLE} --companion {COMPANION}": 2}, [name], NEVER)
           for name in ("own.csv", "own.txt", "own.log", "own.json", "own.jsonl")),
         Case([write("own.json", f'{{"{SECRET}": 1}}'), at("bundle", "own.json")], {"gate": 2}, [], NEVER)]),
    "a bundle with a defect, committed beside a JSON file that nobody can read": (
        "RP104, exit 1",
        [Case([BROKEN, COMMENTED], {f"check --each tsconfig.json {BUNDLE}": 1}, ["RP104"]),
         Case([BROKEN, write(CLIP, '{"Frames": [')], {f"check --each {CLIP} {BUNDLE}": 1}, ["RP104"])]),
    "a file of a commit whose name is an option that runs code": (
        "no code runs; the hook hands it over as a file",
        [Case([named_as_an_option], {f"check --each {AN_OPTION}": 2}, [], NEVER),
         Case([named_as_an_option], {f"{HOOKED} {AN_OPTION} {BUNDLE}": 0}, [], NEVER)]),
    "a clip that was cut off while it was copied, in UTF-8 or UTF-16": (
        "RP004, counted as missing",
        [Case([halved(CLIP, encoding)], {f"check --each {BUNDLE} {CLIP}": 1}, [f"{CLIP}: RP004 error", "1 missing"])
         for encoding in ("utf-8", "utf-16")]),
    "a model of which only the pointer of a large-file store was committed": (
        "RP004; its bundle is judged all the same",
        [Case([POINTER, BROKEN], {f"check --each {MODEL} {BUNDLE}": 1}, ["RP004", "RP104"])]),
    "an output with the name of an input: `run -o bundle.json`, `--report json=model.onnx`": (
        "exit 2; the file stays",
        [Case([settings(WHOLE)], {writing(target)[name]: 2}, ["a file that this command reads"]) for name, target in (
            ("run", BUNDLE), ("run", CLIP), ("codegen", BUNDLE), ("gate", MODEL), ("gate", BUNDLE))]),
    "an output that is a named pipe, or a link to another file": (
        "exit 2; neither is replaced",
        [Case([settings(WHOLE), step], {line: 2}, [f"out.json: found a {kind}"])
         for step, kind in ((pipe, "named pipe"), (linked("out.json", CLIP), "symbolic link"))
         for line in writing("out.json").values()]),
    f"each of {len(DEFECTS)} defects of a model: {', '.join(DEFECTS)}": (
        "the gate exits with 1 and names the defect, after a plain install",
        [Case([model(edit), settings(TAUGHT if code == "RP801" else WHOLE)], {"gate": 1}, [code])
         for edit, code in DEFECTS.values()]),
    "a gate on a model that loads and cannot run: a fixed batch, a reshape that does not fit, no outputs, six inputs": (
        "exit 1: the parts that need a run fail with RP960, the others answer as ever",
        [Case([model(edit), settings(RUNS)], {"gate": 1},
              ["PASS          Files against the rules", "Training file sneak against the runtime could not be judged",
               "Free run could not be judged", "RP960"])
         for edit in FAILING]),
    "`nan` on a model that loads and cannot run": (
        "exit 2: it is not known whether its numbers are finite",
        [Case([model(edit)], {f"{NAN} {CLIP} --frames 5": 2}) for edit in FAILING]),
    "a single number in the model that is infinite or NaN, and reaches the answer": (
        "RP429, RP966; `nan` names the node",
        [case for edit in NOT_FINITE for case in (
            Case([model(edit), settings(RUNS)], {"gate": 1}, ["RP429", "RP966"]),
            Case([model(edit)], {f"{NAN} {CLIP} --frames 5 --format json": 1}, ['"node": "z"']))]),
    "predictions reversed, one frame late, dropped or renamed in a project without a model": (
        "RP622 or RP623: the network's recorded output, composed, gives the poses in another order; the file lost its answers",
        [Case([answered_and_gone, changed(name, damage)], {CHECKED: 1}, ["RP62"]) for name in (OUTPUT, PREDICTION)
         for damage in DAMAGES]),
    '`output_mode = "absolute"` beside a recorded output that is a residual': (
        "RP621",
        [Case([answered_and_gone, changed(BUNDLE, lambda held: held["meta"]["rot6d_spec"].update(output_mode="absolute"))],
              {CHECKED: 1}, ["RP621"])]),
    "`rigpact gate --selftest` without a model: every planted damage of the training side's files": (
        "all are caught: exit 0",
        [Case([answered_and_gone, ran("init")], {"gate --selftest --only training": 0})]),
    "an engine's wrong stage in a project without a model": (
        "`gate`: every stage but the network's answer is judged, RP961",
        [Case([gone(MODEL), settings(TRACED), traced(0.01)], {"gate": 1}, ["RP801", "delta6d"])]),
    f"`nan` with arguments of which one cannot be followed: {len(WRONG)} combinations": (
        "exit 2, one line", [Case([recording()], {f"{NAN} {words}": 2}) for words in WRONG]),
    "wrong arguments, and a bundle that the engine refuses": (
        "exit 2: the arguments come first",
        [Case([changed(BUNDLE, lambda bundle: bundle["MuX"].pop())], {f"{NAN} {WRONG[0]}": 2})]),
    "`nan --frames 300` on a clip or a recording that holds fewer": (
        "exit 2: how many there are",
        [Case([], {f"{NAN} {CLIP} --mode teacher --frames 300": 2}, ["--frames", "at most 32"])]),
    "a state of 1.6·10³⁶ deviations": (
        "DIVERGING, exit 1, also in a run that the clip drives",
        [Case([changed(BUNDLE, absurd)], {f"{NAN} {CLIP} --frames 20 --format json{mode}": 1},
              ['"diverging"', '"kind": "absurd"', '"stage": "state"']) for mode in ("", " --mode teacher")]),
    "a recorded run with an answer of 1e27, looked into; the drift of a model that gives such answers": (
        "DIVERGING, exit 1",
        [Case([recording(1e27)], {f"{NAN} run.trace.jsonl": 1}, ["DIVERGING", "y_norm is"]),
         Case([model(HUGE)], {f"{NAN} {CLIP} --drift --frames 20": 1}, ["DIVERGING", "y_norm is"])]),
    "a processed clip with its state the other way round, a NaN in a condition, fewer targets, or without conditions": (
        "the rule of a teacher batch: RP612, RP605, RP600, RP021; exit 1",
        [Case([processed(**edits)], {PROCESSED: 1}, [code]) for code, edits in (
            ("RP612", {"X_norm": lambda rows: rows[:, ::-1]}), ("RP600", {"Y_norm": lambda rows: rows[:-2]}),
            ("RP605", {"cond_in": lambda rows: np.where(rows == rows[3], np.nan, rows)}), ("RP021", {"cond_in": None}))]),
    "a processed clip whose rows are windows, words or objects": (
        "one line with the array's name, exit 2: never unpickled, never reshaped until it fits",
        [Case([processed(X_norm=rows)], {PROCESSED: 2}, ["clip.npz"])
         for rows in (lambda rows: rows[None], np.array([["a"]]), np.array([{}], object))]),
}  # fmt: skip
PASSES: dict[str, tuple[str, list[Case]]] = {
    "the training's processed clip, a .npz, beside its bundle; objects beside its rows are never unpacked": (
        "passes", [Case([processed()], {PROCESSED: 0}, ["0 errors"])]),
    "`tolerance-factor = 8192`: an engine in half precision": (
        "passes; the differences that it allows are shown",
        [Case([settings(f"{GATE}[gate.thresholds]\ntolerance-factor = 8192\n")], {"gate": 0})]),
    "a file that is not there, waived with owner, reason and day": (
        "`init --status` and `gate` pass, and both show the waiver",
        [Case([settings(WHOLE + WAIVED), gone(MODEL)], {"init --status": 0, "gate": 0}, ["the spine is rebuilt"])]),
    "a project in a folder of a repository that names `../norm_template.json`": (
        "passes", [Case([in_a_repository], {"gate --config enemy/rigpact.toml": 0}, [], [OUTSIDE])]),
    "a JSON file with comments that is none of ours, beside a sound bundle": (
        "is named and passed over",
        [Case([COMMENTED], {f"check --each {BUNDLE} tsconfig.json": 0},
              ["tsconfig.json: no artefact of the contract, passed over\n"])]),
    "`codegen`, `run` and `diff --record` onto their own outputs": (
        "replaced",
        [Case([ran(line.replace("out.json", name))], {line.replace("out.json", name): 0})
         for line, name in zip(writing("out.json").values(), ("a.trace.bin", "made.hpp"), strict=False)]
        + [Case([replaced(BUNDLE, '"pelvis"', '"hips"'), write("record.md", "# Change record\n"),
                 lambda project: shutil.copy(CHECKOUT / "fixtures/bundles/demo" / BUNDLE, project.folder / "old.json")],
                {f"diff old.json {BUNDLE} --record record.md": 1}, ["hips"], files=["record.md"])]),
    "the demo's own model, written again, under the same gate": (
        "passes", [Case([model(lambda held: held), settings(text)], {"gate": 0}) for text in (WHOLE, TAUGHT)]),
    "a recording of the network's own output beside the predictions that were made with it, and an engine's, without a model": (
        "RP631 says what it is",
        [Case([answered_and_gone], {CHECKED: 1}, ["RP631"], ["RP62"]),
         Case([gone(MODEL), settings(TRACED), traced()], {"gate": 0}, [f"{24 * 276 + 422} waived"], ["RP801"])]),
    "a single minus infinity as the floor of Max, as exporters write masks": (
        "passes; RP446, information",
        [Case([model(MASKED), settings(RUNS)], {"gate": 0}, ["RP446", "Max"], ["RP429"]),
         Case([model(MASKED)], {f"{NAN} {CLIP} --frames 5": 0})]),
    "`nan` without a number of frames on a short clip": (
        "finite; a note says how many frames there were",
        [Case([], {f"{NAN} {CLIP} --mode teacher": 0}, ["32 frames: the clip or the recorded answers have no more"])]),
    "free runs of the demo and a recorded one": (
        "finite", [Case([recording()], {f"{NAN} {name}": 0}) for name in (
            "run.trace.jsonl", CLIP, "clips/Run_F.json", "clips/Walk_Spin.json")]),
}  # fmt: skip
TABLE = {"refused": REFUSED, "passes": PASSES}
CASES = [(tried, case) for rows in TABLE.values() for tried, (_, cases) in rows.items() for case in cases]


def held(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Mode and bytes of everything in a folder."""
    files = (path for path in folder.rglob("*") if path.name != "__pycache__")
    return {path: (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in files}


@tries((kind, tried, answer) for kind, rows in TABLE.items() for tried, (answer, _) in rows.items())
@pytest.mark.usefixtures("no_search")
@every_case("tried, case", CASES, ids=lambda each: "" if isinstance(each, str) else " ".join(each.asked), by="tried")
def test_a_project_has_its_answer(demo_bundle, command, tmp_path, monkeypatch, tried, case):
    """A wrong pass ships the limb that is wrong; a wrong alarm is switched off, and then nothing asks."""
    folder, private = tmp_path / "game", tmp_path / "private"
    shutil.copytree(demo_bundle, folder, ignore=shutil.ignore_patterns("engine", "teacher_batches", "*.md"))
    private.mkdir()
    for name in ("names-of-people.csv", "names-of-people.json", "netrc.txt", "netrc.log"):
        (private / name).write_text(PRIVATE, encoding="utf-8")
    (folder / "link.csv").symlink_to(private / "netrc.txt")
    (folder / "linked").symlink_to(private)
    monkeypatch.chdir(folder)
    for step in case.steps:
        step(Project(folder, monkeypatch))
    before = held(folder)
    for line, expected in case.asked.items():
        answer = command(*line.split())
        text = answer.out + answer.err
        assert answer.status == expected, f"{line}: {text}"
        for said in (text, *((folder / name).read_text(encoding="utf-8") for name in case.files)):
            assert [word for word in case.says if word not in said] == [], said
            assert [word for word in case.never if word in said] == [], said
        if answer.err.startswith("rigpact: error:"):
            assert (answer.out, answer.err.count("\n")) == ("", 1)
        assert expected != 2 or held(folder) == before, line


@tries([("refused", "a defect of a model, with none of rigpact's extras installed", "named as with them, exit 1")])
def test_the_extras_are_not_needed_to_see_a_defect(demo_bundle, tmp_path):
    """Every recipe for CI is a plain install; there a model in training mode passed."""
    held_model = onnx.load(str(demo_bundle / MODEL))
    DROPOUT(held_model)
    (tmp_path / MODEL).write_bytes(held_model.SerializeToString())
    absent = f"sys.modules.update(dict.fromkeys({[*status.EXTRAS, 'scipy', 'onnxscript']!r}))"
    code = f"import sys; {absent}; from rigpact.reports.command_line import main; main(sys.argv[1:])"
    words = ("check", demo_bundle / BUNDLE, "--companion", demo_bundle / COMPANION, "--onnx", tmp_path / MODEL)
    done = subprocess.run([sys.executable, "-c", code, *words], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr, "RP426" in done.stdout) == (1, "", True)


@pytest.mark.parametrize(("today", "is_near"), [("2029-06-30", True), ("2029-07-01", True), ("2029-06-28", False)])
def test_a_year_is_the_same_day_of_the_next_one(today, is_near):
    """366 days, so that a leap day refuses nobody's birthday."""
    with nullcontext() if is_near else pytest.raises(UnusableInput, match="at most a year ahead \\(2030-06-29\\)"):
        refuse_far_day("2030-06-30", "place", date.fromisoformat(today))


def test_a_damaged_artefact_is_told_as_it_was(command, demo_bundle, tmp_path, monkeypatch):
    """The finding is the example of its rule in docs/rules.md."""
    monkeypatch.chdir(tmp_path)
    text = (demo_bundle / "clips/Run_F.json").read_text(encoding="utf-8")
    write("Run_F.json", text[: len(text) // 2])(Project(tmp_path, monkeypatch))
    report = json.loads(command("check", "--each", "Run_F.json", "--format", "json").out)
    check_golden(Path(__file__).parent / "golden", "RP004", report["findings"], tmp_path)
