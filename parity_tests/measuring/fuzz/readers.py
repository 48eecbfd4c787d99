"""Every reader of rigpact, with the sound files from which it is fuzzed. To add one: a function, and a line in `all_readers`."""

import json
import shutil
import struct
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import yaml

from rigpact.contract.bundle import load_contract
from rigpact.contract.conventions import conventions_table
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.recordings.opened import open_file, read_trace, write_recording, write_trace
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.recordings.trace_bytes import segments
from rigpact.reference_runtime.systems.neurarig.wire import PACKET, Refusal, decode
from rigpact.reports.checking.bare_model import facts_of
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.describing.description import describe_contract
from rigpact.reports.diagnosing.logs.engine_log import read_engine_log
from rigpact.reports.diagnosing.two_files import TwoFilesRequest
from rigpact.reports.importing.formats import ImportRequest, import_contract
from rigpact.reports.running.converted import ArraysRequest, write_arrays
from rigpact.reports.running.two_models import compare_models

from ...contract_room import small_character
from ...declared_room import foreign_files
from ...readers_room import policies, samples, stores
from ...trust_room import infinity_models
from ..pages.operations_page import SAMPLES, sample_text
from .mutations import restructured, revalued
from .seeds import Seed, archived, framed, packed, rewired, tensors, zipped
from .uses import SoundGate, compared, drafted, explained, log_explained, ran, run, used_contract, used_recording

Read = Callable[[Path], object]
_TRACES = ("jsonl", "jsonl.gz", "jsonl.zst", "bin", "safetensors")
_TABLES = ("csv", "npz", "json")
_AXES = " ".join(
    f"{name}=(0.1,-2.5,{place})" for place, name in enumerate(("prevX", "prevZ", "deltaX", "deltaZ", "nextX", "nextZ"))
)
_LOG = f"""[2024.01.01][ 12]LogMotion: [Schema OK] X=35 Y=18 C=7 fps=60.0
LogMotion: [FusedModel] Requested dims: motion=35 cond=7 contacts=2 angvel=9 pose_hist=36
LogMotion: [StepModel] lens X=35 C=7 Contacts=2 Ang=9 Pose=36 | bound 35/7/2/9/36
LogMotion: [TDbg] y_reproj[0..11] = {", ".join(["0.25"] * 12)} (len=18)
[ 13]LogMotion: [DeltaCompose] frame=1 {_AXES}
LogMotion: [BuildCondVector] Dim=7 Raw=0.1 0.2 -nan(ind) 1.#INF 5 6 7 Out=0.1 0.2 0.3 0.4 0.5 0.6 0.7
"""
_SETTINGS = """[severity]
RP526 = "error"
[gate]
bundle = "norm_template.json"
model = "model.onnx"
clips = ["clips/*.json"]
free-run = false
[[gate.trace]]
file = "a.trace.jsonl"
clip = "clips/a.json"
mode = "teacher"
[[lower]]
rule = "RP060"
to = "info"
owner = "animation"
reason = "no feet"
expires = "2027-01-01"
"""


_CONVENTIONS = b"""[conventions]
output_mode = "residual"
bone_order = "as_declared"
input_order = "state,cond,contacts,angvel,pose_hist"
angvel_lag = 0
"""


_OF_NUMBERS = """format = "rigpact-contract"
version = 1
name = "of_numbers"
title = "A stage of numbers from a file"
fps = 50
[names]
motors = ["hip", "knee", "foot"]
[numbers]
mean = { SOURCE }
[[given]]
name = "q"
names = "motors"
unit = "rad"
[[stages]]
name = "normal"
operation = "normalise"
of = "q"
mean = "mean"
std = 2
"""


_DEPLOYED = b"""simulation_dt: 0.002
control_decimation: 10
policy_path: policy.pt
kps: [100, 150]
kds: [2, 4]
default_angles: [-0.1, 0.3]
ang_vel_scale: 0.25
dof_pos_scale: 1.0
dof_vel_scale: 0.05
action_scale: 0.25
cmd_scale: [2.0, 2.0, 0.25]
num_actions: 2
num_obs: 17
cmd_init: [0.5, 0, 0]
"""
_OF_COLUMNS = """format = "rigpact-contract"
version = 1
name = "of_columns"
title = "A vector of numbers from a recording"
fps = 50
given = [{{ name = "q", size = {1} }}]
stages = [{{ name = "twice", operation = "affine", of = "q", scale = 2 }}]
[recordings]
q = "{0}"
twice = "{2}"
"""
_COLUMNS = {
    "mcap": ("obs", 2, "obs"), "json": ("state.imu.gyro", 3, "state.imu.gyro"), "plain": ("obs", 2, "obs"),
    "hdf5": ("observations.qpos", 3, "action"), "parquet": ("observation.state", 3, "observation.state"),
    "bvh": ("rotation.Hips", 3, "position.Hips"),
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A reader and its seeds."""

    name: str
    read: Read
    seeds: Sequence[Seed]


class _Files:
    """The small character's files in a folder, for readers that need others beside their own."""

    def __init__(self, folder: Path) -> None:
        bundle = small_character.bundle_document()
        batch = small_character.batch_document(bundle)
        self.documents = {
            "bundle": bundle, "companion": small_character.companion_document(bundle),
            "clip": small_character.clip_document(), "batch": batch,
            "prediction": small_character.prediction_document(batch),
        }  # fmt: skip
        self.folder = folder
        for name, document in self.documents.items():
            (folder / f"sound_{name}.json").write_text(json.dumps(document), encoding="utf-8")
        self.bundle = folder / "sound_bundle.json"
        self.contract = load_contract(self.bundle)
        self.model = infinity_models.model_bytes(self.contract, [], "x")
        (folder / "sound.onnx").write_bytes(self.model)
        self.trace = self._ran(folder / "sound.onnx")

    def seed(self, kind: str) -> Seed:
        """One of the character's documents."""
        return Seed(f"{kind}.json", json.dumps(self.documents[kind]).encode())

    def _ran(self, model: Path) -> Trace:
        clip = read_clip(self.folder / "sound_clip.json")
        return run_frames(
            open_run(self.contract, OnnxNetwork(model, self.contract), clip, "teacher"), range(5), "c", "teacher"
        )


def all_readers(folder: Path) -> Iterator[Reader]:
    """Every reader; its files lie in the folder."""
    files = _Files(folder)
    yield from _of_the_bundle(files)
    yield from _of_recordings(files)
    yield Reader(
        "pasted log",
        _read_log,
        [Seed("engine.log", _LOG.encode()), Seed("utf16.log", _LOG.encode("utf-16"))],
    )
    log = Seed("engine.log", _LOG.encode())
    yield Reader("explained log", lambda path: log_explained(path, files.contract), [log])
    yield Reader("ONNX model", lambda path: _run_model(path, files), [Seed("model.onnx", files.model, own=rewired)])
    yield Reader(
        "model compared", lambda path: _compare_model(path, files), [Seed("model.onnx", files.model, own=rewired)]
    )
    gate = SoundGate.of(folder, files.trace)
    yield Reader("archive", gate.judge, [archived("a.rigpact.zip", gate.archive)])
    yield Reader("configuration", gate.configured, [Seed("rigpact.toml", _SETTINGS.encode(), own=revalued)])
    yield Reader("conventions", lambda path: _conventions(path, files), [Seed("set.toml", _CONVENTIONS, own=revalued)])
    yield Reader("known findings", gate.known, [Seed("known.json", _known(files))])
    yield _numbers(folder)
    yield _declared(folder)
    yield _importers(folder)
    yield _configurations(folder)
    yield _folders(folder)
    yield _other_formats(folder)
    yield _segments(files)
    yield _datagrams()


def _of_the_bundle(files: _Files) -> Iterator[Reader]:
    sound = read_document(files.bundle)

    def bundle(path: Path) -> None:
        document = read_document(path)
        check_files(CheckRequest([document]))
        contract = load_contract(path)
        describe_contract(contract, document.data)
        run(contract, files.folder / "sound.onnx", files.folder / "sound_clip.json")

    def companion(path: Path) -> None:
        check_files(CheckRequest([sound, read_document(path)]))
        load_contract(files.bundle, path)

    def clip(path: Path) -> None:
        check_files(CheckRequest([sound, read_document(path)]))
        run(files.contract, files.folder / "sound.onnx", path)

    yield Reader("bundle", bundle, [files.seed("bundle")])
    yield Reader("companion", companion, [files.seed("companion")])
    yield Reader("clip", clip, [files.seed("clip")])
    yield Reader("teacher batch", clip, [files.seed("batch")])
    yield Reader("prediction", clip, [files.seed("prediction")])


def _of_recordings(files: _Files) -> Iterator[Reader]:
    def written(ending: str) -> bytes:
        path = files.folder / f"sound.{ending}"
        write_recording(trace, path)
        return path.read_bytes()

    trace = replace(files.trace, header=replace(files.trace.header, producer="game"))
    sound = files.folder / "sound.trace.jsonl"
    write_trace(trace, sound)
    recording = read_recording(sound, files.contract)

    def compare(path: Path) -> None:
        compared(path, recording, files.contract)

    def explain(path: Path) -> None:
        explained(path, files.contract)

    text = written("trace.jsonl")
    made = {
        "jsonl": Seed("a.trace.jsonl", text), "jsonl.gz": packed("a.trace.jsonl.gz", text),
        "jsonl.zst": packed("a.trace.jsonl.zst", text), "bin": framed("a.trace.bin", written("trace.bin")),
        "safetensors": tensors("a.trace.safetensors", written("trace.safetensors")),
    }  # fmt: skip
    for ending in _TRACES:
        yield Reader(f"trace .{ending}", compare, [made[ending]])
    tables = {ending: written(ending) for ending in _TABLES}
    lines = b"\n".join(text.split(b"\n")[1:])
    yield Reader("table .csv", compare, [Seed("a.csv", tables["csv"])])
    yield Reader("table .npz", compare, [zipped("a.npz", tables["npz"])])
    json_seeds = [Seed("a.json", tables["json"]), Seed("lines.jsonl", lines)]
    yield Reader("table .json", compare, json_seeds)
    yield Reader("evidence", explain, [made["jsonl"], Seed("lines.jsonl", lines), Seed("a.csv", tables["csv"])])


def _read_log(path: Path) -> None:
    if open_file(path).kind is Kind.ENGINE_LOG:
        read_engine_log(path)


def _run_model(path: Path, files: _Files) -> None:
    """A model is read, judged, and run on three frames; and described as one of which nothing is known."""
    facts_of(path)
    check_files(CheckRequest([read_document(files.bundle)], model=path))
    run(files.contract, path, files.folder / "sound_clip.json")


def _compare_model(path: Path, files: _Files) -> None:
    """A model is evaluated operation by operation, with its rounding, and compared with a sound one value by value."""
    rows = [np.asarray(files.trace.stages[name]) for name in files.contract.system.inputs]
    with suppress(UnusableInput):
        compare_models(TwoFilesRequest(files.folder / "sound.onnx", path, millions=1.0))
    answer = OnnxNetwork(path, files.contract).bounded(rows, [np.zeros_like(each) for each in rows])
    assert len(answer.bound) == len(answer.exact)


def _conventions(path: Path, files: _Files) -> None:
    contract = files.contract.with_conventions(conventions_table(path))
    run(contract, files.folder / "sound.onnx", files.folder / "sound_clip.json")


def _known(files: _Files) -> bytes:
    from rigpact.contract.settings.baseline import write_baseline

    changed = files.folder / "other.json"
    changed.write_text(json.dumps({**files.documents["bundle"], "fps": 0}), encoding="utf-8")
    report = check_files(CheckRequest([read_document(changed)]))
    write_baseline(files.folder / "known_sound.json", report.findings, "a", "b", "2027-01-01")
    return (files.folder / "known_sound.json").read_bytes()


def _declared(folder: Path) -> Reader:
    bundles = demo_bundle().parent
    names = (
        "blender_ik/blender_ik.json",
        "imu_pose/imu_pose.json",
        "neurarig/neurarig.json",
        "neurarig/neurarig_plugin.toml",
        "rig_inversion/rig_inversion_approximation.toml",
    )
    for name in ("model.onnx", "approximation.onnx"):
        shutil.copy(bundles / "rig_inversion" / name, folder / name)

    def read(path: Path) -> None:
        document = read_document(path)
        check_files(CheckRequest([document], with_own_models=False))
        used_contract(path, document.data)

    return Reader(
        "declared contract",
        read,
        [
            Seed(
                Path(name).name, (bundles / name).read_bytes(), own=revalued if name.endswith(".toml") else restructured
            )
            for name in names
        ]
        + [Seed(f"{name}.toml", sample_text(name).encode(), own=revalued) for name in SAMPLES]
        + [Seed(f"{name}.json", as_json(sample_text(name))) for name in SAMPLES],
    )


def as_json(text: str) -> bytes:
    """A contract in TOML as one in JSON."""
    return json.dumps(tomllib.loads(text), default=str).encode()


def _numbers(folder: Path) -> Reader:
    """Files with the numbers of a declared contract; each is read to its last value."""
    rows = {"mean": np.arange(3.0), "std": np.ones(3), "name": np.array(["hip", "knee"])}
    np.savez(folder / "sound_numbers.npz", **rows)
    np.save(folder / "sound_numbers.npy", rows["mean"])
    numbers = {name: rows[name] for name in ("mean", "std")}
    plain = {name: each.tolist() for name, each in rows.items()}
    seeds = [
        zipped("numbers.npz", (folder / "sound_numbers.npz").read_bytes()),
        Seed("numbers.npy", (folder / "sound_numbers.npy").read_bytes()),
        tensors("numbers.safetensors", safetensors.numpy.save(numbers)),
        Seed("numbers.json", json.dumps(plain).encode()), Seed("numbers.yaml", yaml.safe_dump(plain).encode(), own=revalued),
    ]  # fmt: skip

    def read(path: Path) -> None:
        at = "" if path.suffix == ".npy" else ', at = "mean"'
        contract = folder / "of_numbers.toml"
        contract.write_text(_OF_NUMBERS.replace("SOURCE", f'file = "{path.name}"{at}'), encoding="utf-8")
        check_files(CheckRequest([read_document(contract)], with_own_models=False))
        ran(contract)

    return Reader("numbers", read, seeds)


def _importers(folder: Path) -> Reader:
    tables: dict[str, Any] = {
        "deploy.yaml": foreign_files.DEPLOY,
        "io.yaml": foreign_files.DESCRIPTOR,
        "leapp.yaml": foreign_files.LEAPP,
    }
    seeds = [
        Seed(name, yaml.safe_dump(table, sort_keys=False).encode(), own=own)
        for name, table in tables.items()
        for own in (revalued, None)
    ]
    foreign_files.write_model(folder / "mjlab.onnx", 45, 2, foreign_files.METADATA)
    seeds.append(Seed("mjlab.onnx", (folder / "mjlab.onnx").read_bytes()))
    np.savez(folder / "sound_arrays.npz", W1=np.eye(3, dtype=np.float32), b1=np.zeros(3, np.float32))
    seeds += [
        zipped("arrays.npz", (folder / "sound_arrays.npz").read_bytes()),
        Seed("arrays.json", json.dumps({"sequences": [{"imu": [[1.0, 2.0], [3.0, 4.0]]}], "fps": 60}).encode()),
    ]
    outs = dict.fromkeys((".json", ".npz"), "made.npz")

    def read(path: Path) -> None:
        _made_of(path, folder / outs.get(path.suffix, "made.toml"))

    return Reader("importers", read, seeds)


def _made_of(path: Path, out: Path, *, episode: int | None = None) -> None:
    """The arrays or the contract of a foreign file, read again."""
    if out.suffix == ".npz":
        write_arrays(ArraysRequest(path, out, episode=episode))
    else:
        out.write_bytes(import_contract(ImportRequest(path, out)).content)
    drafted(out)


def _configurations(folder: Path) -> Reader:
    """Configurations of trainings and of robots: each becomes a contract, which is checked."""
    (folder / "base_class.py").write_text(foreign_files.BASE, encoding="utf-8")
    (folder / "base_robot.yaml").write_text(foreign_files.ROBOT_BASE, encoding="utf-8")
    bases = {"walker.py": folder / "base_class.py", "config.yaml": folder / "base_robot.yaml"}
    texts = {
        "walker.py": foreign_files.CLASSES, "config.yaml": foreign_files.ROBOT_POLICY,
        "env.yaml": foreign_files.ENV,
    }  # fmt: skip

    def read(path: Path) -> None:
        out = folder / "made.toml"
        out.write_bytes(import_contract(ImportRequest(path, out, base=bases.get(path.name))).content)
        drafted(out)

    seeds = [Seed(name, text.encode(), own=revalued) for name, text in texts.items()]
    seeds += [Seed(name, text.encode()) for name, text in texts.items() if name.endswith(".yaml")]
    seeds.append(Seed("g1.yaml", _DEPLOYED))
    return Reader("configurations", read, seeds)


def _folders(folder: Path) -> Reader:
    """A LeRobot policy and a LeRobot data set: one file of the folder is changed, the others are sound."""
    policies.write_policy(folder / "policy")
    stores.write_data_set(folder / "set")
    sources = {"policy": "config.json", "set": "meta/info.json"}
    of = {path.name: path for name in sources for path in (folder / name).rglob("*") if path.is_file()}
    sound = {name: path.read_bytes() for name, path in of.items()}

    def read(path: Path) -> None:
        whole = of[path.name].relative_to(folder).parts[0]
        out = folder / ("made.toml" if whole == "policy" else "made.npz")
        of[path.name].write_bytes(path.read_bytes())
        try:
            _made_of(folder / whole / sources[whole], out, episode=0 if whole == "set" else None)
        finally:
            of[path.name].write_bytes(sound[path.name])

    return Reader(
        "folders", read, [Seed(name, content) for name, content in sound.items() if not name.endswith(".onnx")]
    )


def _other_formats(folder: Path) -> Reader:
    """Recordings of other programs as columns; animations as contracts too."""
    samples_folder = folder / "samples"
    samples_folder.mkdir()
    seeds = []
    for name, make in samples.MAKERS.items():
        made = make(samples_folder)
        seeds.append(Seed(f"{name}_{made.name}", made.read_bytes()))

    def read(path: Path) -> None:
        for out in (folder / "made.npz", folder / "made.toml")[: 1 + (path.suffix == ".bvh")]:
            _made_of(path, out)
        column = _COLUMNS[path.name.partition("_")[0]]
        contract = folder / "of_columns.toml"
        contract.write_text(_OF_COLUMNS.format(*column), encoding="utf-8")
        used_recording(path, contract)

    return Reader("other formats", read, seeds)


def _segments(files: _Files) -> Reader:
    """Several recordings one behind the other: each is a trace."""
    trace = replace(files.trace, header=replace(files.trace.header, producer="game"))
    seeds = []
    for ending in ("jsonl", "bin"):
        path = files.folder / f"one.trace.{ending}"
        write_trace(trace, path)
        seeds.append(Seed(f"segments.trace.{ending}", 2 * path.read_bytes()))

    def read(path: Path) -> None:
        with segments(path) as parts:
            for part in parts.paths:
                read_trace(part)

    return Reader("segments", read, seeds)


def _datagrams() -> Reader:
    rng = np.random.default_rng(0)
    frame = b"\x02" + rng.normal(size=PACKET.width).astype("<f4").tobytes()
    handshake = b"\x01" + struct.pack("<ii6s", 0, 6, b"pelvis")
    seeds = [Seed("frame.datagram", frame), Seed("handshake.datagram", handshake)]

    def read(path: Path) -> None:
        answer = decode(path.read_bytes())
        if isinstance(answer, Refusal):
            raise UnusableInput(path, f"{answer.reason}: {answer.detail}", "a message")

    return Reader("datagrams", read, seeds)
