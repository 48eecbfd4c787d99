"""The answers of many command lines, kept before a large change and compared after it.

`python -m parity_tests.measuring.corpus freeze FILE` asks every line and keeps what it says, a line of JSON each.
`python -m parity_tests.measuring.corpus compare FILE` asks the same lines again; what differs is printed, exit status 1.
RIGPACT_REAL_DATA names the folder of real exported files; without it they are left out, and so are their lines of FILE.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import track

from rigpact.contract.contract_files import open_contract
from rigpact.contract.files import write_bytes
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reports.command_line import run_command_line

from ...engine_recordings import as_engine

Said = Mapping[str, Any]
_PLACE = ("stage", "frame", "bone", "channel")


def asked(words: tuple[str, ...]) -> Said:
    """Run a command line in this process and folder. What it says."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_command_line(list(words))
    return {"status": status, **said(status, out.getvalue(), err.getvalue())}


def said(status: int, out: str, err: str) -> Said:
    """The fields of an answer in JSON; the verdict alone of an answer in words."""
    if not out.lstrip().startswith("{"):
        return {"verdict": in_a_word(status, out, err) if status < 2 else "refused"}
    answer = json.loads(out)
    first = answer.get("first_divergence") or answer.get("summary", {}).get("first_divergence") or {}
    found = {
        "verdict": answer.get("verdict"),
        "first": [first[name] for name in _PLACE if first.get(name) is not None],
        "causes": _causes(answer),
        "rules": dict(sorted(Counter(finding["code"] for finding in answer.get("findings", ())).items())),
    }
    return {name: value for name, value in found.items() if value}


def _causes(answer: Mapping[str, Any]) -> list[str]:
    """The causes of an explanation: conventions with the frames that they explain, a supposition, relations with their places."""
    causes = [f"{each['stage']}: {_changed(each)} in {each['frames_explained']}" for each in answer.get("causes", ())]
    supposed = [f"supposed: {answer['supposition']}"] if answer.get("supposition") else []
    return [*causes, *supposed, *(f"{each['kind']} at {each['place']}" for each in answer.get("relations", ()))]


def _changed(cause: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(cause["changes"].items()))


def in_a_word(status: int, out: str, err: str) -> str:
    """A cell: why not, else the convention that is named, the defects that are missed, the verdict."""
    if status > 1:
        reason = re.search(r"found (?:.* which )?(.*), expected", err)
        return f"{reason[1] if reason else err.strip()} (status {status})"
    named = re.search(r"With (\w+) = (\S+)", out)
    if named:
        return f"names `{named[1]}`"
    caught = re.search(r"(\d+) of (\d+) planted defects caught", out)
    if caught:
        return "all caught" if caught[1] == caught[2] else f"{int(caught[2]) - int(caught[1])} missed"
    verdicts = re.findall(r"^([A-Z]{4,}): ", out, re.MULTILINE)
    return verdicts[-1] if verdicts else "done" if status == 0 else f"status {status}"


CHECKOUT = Path(__file__).parents[3]
CONTRACTS = CHECKOUT / "fixtures" / "contracts"
Words = tuple[str, ...]
ALONE = {"enemy_animation": ("y_out", "quat")}
"""Stages that are recorded alone; of another system the last stage of its loop."""
_JSON = ("--format", "json")
FRAMES = 24


@dataclass(frozen=True)
class Project:
    """The files of a system's project, and a convention that an engine could have wrong. folder: under fixtures/bundles."""

    name: str
    folder: str
    contract: str
    clip: str
    wrong: str
    more: tuple[str, ...] = ()


def _hosted(name: str, wrong: str) -> Project:
    return Project(name, name, f"{name}.json", "clip.trace.safetensors", wrong)


PROJECTS = (
    Project("enemy_animation", "demo", "norm_template.json", "clips/Sneak_Turn.json", "compose_order=prev_delta",
            ("--companion", "pretrain_template.json")),
    _hosted("neurarig", "error_target=pelvis_target_as_world"), _hosted("blender_ik", "target_space=hips_relative"),
    _hosted("rig_inversion", "scale_mapping=zero_to_two"), _hosted("imu_pose", "temperature=none"),
)  # fmt: skip
COMMANDS = """
show NAME
show CONTRACT MORE --onnx model.onnx
check CONTRACT CLIP --onnx model.onnx MORE
codegen CONTRACT MORE --out aside/contract.hpp
codegen CONTRACT --stamp model.onnx --out aside/stamped.onnx
diff CONTRACT CONTRACT MORE MORE
run --contract CONTRACT MORE CLIP --onnx model.onnx --out engine.trace.jsonl
run --contract CONTRACT MORE CLIP --onnx model.onnx --frames 24 --mode free --out aside/free.trace.jsonl
run --contract CONTRACT MORE CLIP --onnx model.onnx --frames 24 --mode playback --out aside/playback.trace.jsonl
run --contract CONTRACT MORE CLIP --onnx model.onnx --frames 24 --set WRONG --out aside/wrong.trace.jsonl
convert engine.trace.jsonl -o aside/engine.npz
diff engine.trace.jsonl aside/engine.npz --contract CONTRACT MORE
diff engine.trace.jsonl engine.trace.jsonl --contract CONTRACT MORE
diff engine.trace.jsonl aside/wrong.trace.jsonl --contract CONTRACT MORE
explain engine.trace.jsonl --contract CONTRACT MORE --onnx model.onnx --clip CLIP
explain aside/wrong.trace.jsonl --contract CONTRACT MORE --onnx model.onnx --clip CLIP
nan --contract CONTRACT MORE CLIP --onnx model.onnx --frames 24
sweep --contract CONTRACT MORE CLIP --onnx model.onnx --frames 24 --processes 1 --out aside/swept
init
init --status
gate --html aside/page.html
gate --selftest --only bundle
"""
"""Every command on a project's files, in an order in which each finds the files that it needs."""


@dataclass(frozen=True)
class Group:
    """Command lines over one folder. prepare: puts the files there. after: what the next lines need, told the last one."""

    name: str
    prepare: Callable[[Path], None]
    lines: tuple[Words, ...]
    after: Callable[[Words], None] = lambda _words: None


def groups(real: Path | None) -> Iterator[Group]:
    """Every group. real: the folder of the real exported files."""
    for project in PROJECTS:
        folder = CHECKOUT / "fixtures" / "bundles" / project.folder
        if folder.is_dir():
            yield _every_command(project, folder)
            yield _every_convention(project, folder)
            yield _damaged_contract(project.name, folder / project.contract, project.more)
    for contract in sorted(CONTRACTS.glob("*.toml")):
        yield _declared(contract)
        yield _damaged_declaration(contract)
    if real is not None:
        yield _real_files(real)
        yield from _mistakes(real)


def _words(*parts: object) -> Words:
    return tuple(map(str, parts))


def _copied(source: Path) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        shutil.copytree(source, folder, dirs_exist_ok=True)

    return prepare


def _engine_records(stages: tuple[str, ...], words: Words) -> None:
    """A run's recording becomes an engine's: under its own name, without conventions; and once more with one stage alone."""
    path = Path(words[-1])
    if words[0] != "run" or not path.name.endswith(".trace.jsonl") or not path.is_file():
        return
    as_engine(path)
    whole = read_trace(path)
    for stage in set(stages) & set(whole.stages):
        write_trace(
            replace(whole, stages={stage: whole.stages[stage]}, mapping=None), path.with_name(f"{stage}.{path.name}")
        )


def _every_command(project: Project, folder: Path) -> Group:
    names = {"NAME": project.name, "CONTRACT": project.contract, "CLIP": project.clip, "WRONG": project.wrong}
    said = {**{key: (value,) for key, value in names.items()}, "MORE": project.more}
    lines = [
        _words(*(word for each in line.split() for word in said.get(each, (each,))))
        for line in COMMANDS.split("\n")[1:-1]
    ]
    return Group(f"{project.name}: commands", _copied(folder), tuple(lines), partial(_engine_records, ()))


def _every_convention(project: Project, folder: Path) -> Group:
    """An engine with each other value of each convention: compared, explained, and explained from one stage alone."""
    companion = folder / str(project.more[1]) if project.more else None
    contract = open_contract(folder / project.contract, companion)
    alone = ALONE.get(project.name, (contract.system.stages[-1].name,))
    judged = _words("--contract", project.contract, *project.more)
    asked = (*judged, "--onnx", "model.onnx", "--clip", project.clip, *_JSON)
    run = _words("run", project.clip, *judged, "--onnx", "model.onnx", "--frames", FRAMES)
    lines = [(*run, "--out", "engine.trace.jsonl")]
    for number, change in enumerate(_changes(contract)):
        wrong = f"wrong{number}.trace.jsonl"
        lines.append((*run, "--set", change, "--out", wrong))
        lines.append(("diff", "engine.trace.jsonl", wrong, *judged, *_JSON))
        lines += [("explain", file, *asked) for file in (wrong, *(f"{stage}.{wrong}" for stage in alone))]
    return Group(f"{project.name}: conventions", _copied(folder), tuple(lines), partial(_engine_records, alone))


def _changes(contract: Any) -> Iterator[str]:
    """NAME=VALUE of every other value of every convention."""
    for knob in contract.system.knobs.values():
        for value in knob.values:
            if value != contract.conventions[knob.name]:
                yield f"{knob.name}={value}"


def _damaged_contract(name: str, contract: Path, more: tuple[object, ...]) -> Group:
    """The contract without each of its keys, and with a number that is none in its place."""
    whole = json.loads(contract.read_text(encoding="utf-8"))
    broken = {f"{change}{number}.json": (key, change) for number, key in enumerate(whole) for change in ("no", "nan")}

    def prepare(folder: Path) -> None:
        shutil.copytree(contract.parent, folder, dirs_exist_ok=True)
        for file, (key, change) in broken.items():
            other = {each: value for each, value in whole.items() if each != key}
            text = json.dumps(other if change == "no" else {**whole, key: float("nan")})
            (folder / file).write_text(text, encoding="utf-8", newline="\n")

    lines = [_words("check", file, *more, *_JSON) for file in broken]
    lines += [_words("diff", contract.name, file, *more, *more, *_JSON) for file in broken]
    return Group(f"{name}: damaged", prepare, tuple(lines))


def _declared(path: Path) -> Group:
    """A declared contract: described, checked, written for C++; its recording explained under each other reading."""
    contract = open_contract(path)
    recording = f"recordings/{path.stem}.safetensors"
    lines = [
        _words("check", path.name, recording, *_JSON),
        _words("show", path.name, *_JSON),
        _words("codegen", path.name, "--out", "contract.hpp"),
        _words("diff", path.name, path.name, *_JSON),
        _words("explain", recording, "--contract", path.name, *_JSON),
        _words("diff", recording, recording, "--contract", path.name, *_JSON),
    ]
    lines += [
        _words("explain", recording, "--contract", path.name, "--set", change, *_JSON) for change in _changes(contract)
    ]
    return Group(f"{path.stem}: declared", _copied(CONTRACTS), tuple(lines))


def _damaged_declaration(path: Path) -> Group:
    """The declaration without each of its lines."""
    text = path.read_text(encoding="utf-8").splitlines()
    without = {f"without{number}.toml": number for number, line in enumerate(text) if line.strip()}

    def prepare(folder: Path) -> None:
        shutil.copytree(CONTRACTS, folder, dirs_exist_ok=True)
        for file, number in without.items():
            (folder / file).write_text("\n".join(text[:number] + text[number + 1 :]), encoding="utf-8", newline="\n")

    lines = tuple(_words("check", file, *_JSON) for file in without)
    return Group(f"{path.stem}: damaged", prepare, lines)


def _real_files(real: Path) -> Group:
    """The exported files of a deployed character, and the contracts of others as `init --from` writes them."""
    companion = ("--companion", "pretrain_template.json")
    rows = (
        "Walk_F_teacher.json",
        "Walk_F_prediction.json",
        "Walk_F_prediction_best.json",
        "Walk_F_network_output.json",
    )
    lines = [
        _words("check", "norm_template.json", clip, *companion, *_JSON)
        for clip in ("Walk_F.json", "Walk_L_To_R.json", *rows)
    ]
    lines += [
        _words("show", "norm_template.json", *companion, *_JSON),
        _words("codegen", "norm_template.json", *companion, "--out", "aside.hpp"),
    ]
    for imported in sorted((real / "others").rglob("*.yaml")):
        contract = f"{imported.parent.name}_{imported.stem}.toml"
        lines.append(_words("init", "--from", imported.relative_to(real), "--out", contract))
        lines.append(_words("check", contract, *_JSON))
    return Group("real files", _copied(real), tuple(lines))


def _mistakes(real: Path) -> Iterator[Group]:
    """Recordings of real programs, each explained with the contract that a first user wrote."""
    settings = ("output_mode=residual", "contacts_source=zeros", "angvel_source=state_slice")
    enemy: Words = ("--contract", "bundle.json", "--companion", "pretrain_template.json")
    enemy += tuple(word for each in settings for word in ("--set", each))

    def prepare(recorded: Path, folder: Path) -> None:
        shutil.copytree(recorded, folder, dirs_exist_ok=True)
        for name in ("Walk_F.json", "pretrain_template.json"):
            shutil.copyfile(real / name, folder / name)

    for recorded in sorted(each for each in (real / "mistakes").iterdir() if each.is_dir()):
        own = enemy if recorded.name == "enemy_engine" else ("--contract", "contract.toml")
        own += ("--operations", "choose.py") if (recorded / "choose.py").is_file() else ()
        files = sorted((*recorded.glob("*.npz"), *recorded.glob("*.trace.safetensors")))
        clip = ("--clip", "Walk_F.json")
        lines = tuple(("explain", f.name, *own, *(clip if ".teacher." in f.name else ()), *_JSON) for f in files)
        yield Group(f"mistakes: {recorded.name}", partial(prepare, recorded), lines)


Answers = Mapping[str, Said]


def answers_of(group: Group) -> Answers:
    """What every line of a group says, by the group and the line."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        group.prepare(Path(folder))
        with contextlib.chdir(folder):
            Path("aside").mkdir(exist_ok=True)
            for words in group.lines:
                found[f"{group.name}: {' '.join(words)}"] = asked(words)
                group.after(words)
    return found


def _numbered(real: Path | None, number: int) -> Answers:
    return answers_of(list(groups(real))[number])


def every_answer(real: Path | None) -> Answers:
    """Every group, a process each on every processor."""
    found: dict[str, Said] = {}
    with ProcessPoolExecutor() as workers:
        waiting = [workers.submit(_numbered, real, number) for number in range(len(list(groups(real))))]
        for each in track(waiting, "groups", transient=True):
            found.update(each.result())
    return found


def differences(before: Answers, after: Answers) -> Iterator[str]:
    """Lines that say another thing, or are asked no more."""
    for line, said in before.items():
        if after.get(line) != said:
            yield f"{line}\n  before: {json.dumps(said)}\n  now:    {json.dumps(after.get(line))}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("freeze", "compare"))
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    real = Path(os.environ["RIGPACT_REAL_DATA"]) if "RIGPACT_REAL_DATA" in os.environ else None
    found = every_answer(real)
    if given.what == "freeze":
        rows = (json.dumps({"line": line, **said}, sort_keys=True) for line, said in found.items())
        write_bytes(given.file, ("\n".join(rows) + "\n").encode())
        sys.stdout.write(f"{len(found)} command lines\n")
        return 0
    kept = [json.loads(row) for row in given.file.read_text(encoding="utf-8").splitlines()]
    before = {row.pop("line"): row for row in kept}
    asked_again = {
        line: said for line, said in before.items() if real or not line.startswith(("real files", "mistakes"))
    }
    other = list(differences(asked_again, found))
    sys.stdout.write(
        "".join(f"{each}\n" for each in other) + f"{len(asked_again)} command lines, {len(other)} differ\n"
    )
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
