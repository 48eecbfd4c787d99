"""Every family of rules, listed once, and the check that runs them all.

A rule's texts stand in rules.toml; the small generator that yields its findings in the module that the table names. To add one:

 1. write its texts in rules.toml, in the table of its module and family;
 2. write the generator, which calls it by its name, and name it in the module's `FAMILY`; the types of its
    parameters say what it is run on.

To add a family: a table with `about`, `rules.family` in the module of its artefact, and its name in `FAMILIES`; rules whose
findings come with a measurement need the table alone. Codes are never reused: a rule that goes leaves its code in `RETIRED`.

    RP0xx JSON text, structure, layout             RP5xx clips
    RP1xx statistics, and what is derived of them  RP6xx teacher batches and predictions
    RP2xx rotations, skeleton, declarations        RP7xx other systems' contracts and data
    RP3xx companion                                RP8xx runs, and two runs compared
                                                   RP85x to RP88x a training side's functions
    RP4xx model                                    RP9xx files that belong together; RP95x waivers;
                                                   RP96x to RP98x the gate

The modules `…_view` turn files into what the rules judge. A part that is not there in readable form is `Unread`; a check that
reads it ends there, and the next one goes on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Rule, Severity
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules import (
    across_files,
    bundle_body,
    bundle_declaration,
    bundle_layout,
    bundle_statistics,
    clip_frames,
    clip_motion,
    clip_pose,
    contract_files,
    declared_contract,
    declared_models,
    model_graph,
    prediction,
    recorded_sizes,
    structure,
    teacher_rows,
)
from rigpact.contract.rules.bundle_view import member
from rigpact.contract.rules.family import Artefacts, Family, Texts, answers, geometry
from rigpact.contract.rules.structure import has_its_shape

LOADING = (structure.FAMILY, bundle_layout.LOADING, contract_files.LOADING, contract_files.DECLARED)
"""The families with rules for which a runtime does not load a contract."""


def findings(subject: Artefacts, families: Iterable[Family]) -> Iterator[Finding]:
    """Yield what the families find in the parts of a subject that are there."""
    for family in families:
        yield from family.findings(subject)


def refusals(subject: Artefacts) -> list[Finding]:
    """Every finding that keeps a runtime from loading the contract of a subject, with the bundle's companion if given."""
    return [finding for finding in findings(subject, LOADING) if finding.rule.engine_refuses]


_REQUIRED = {
    Kind.BUNDLE: "MuX StdX MuY StdY tanh_scales_rootvel tanh_scales_angvel meta/state_layout meta/output_layout",
    Kind.COMPANION: "",
    Kind.RAW_CLIP: "Frames",
    Kind.TEACHER_BATCH: "teacher/state_norm teacher/cond",
    Kind.TEACHER_PREDICTION: "teacher/state_norm teacher/cond prediction/y_norm",
}
_ROWS = "fps num_pairs dims layouts teacher/target_norm teacher/aux_inputs aux_inputs prediction/y_raw"
_OPTIONAL = {
    Kind.BUNDLE: "fps input_dim output_dim cond_norm_config pose_hist_len tanh_scales_pose_hist MuPoseHist StdPoseHist"
    " MuAngVel StdAngVel meta/bone_names meta/rot6d_spec meta/skeleton",
    Kind.COMPANION: "tanh_scales_angvel MuAngVel StdAngVel pose_hist_len tanh_scales_pose_hist MuPoseHist StdPoseHist",
    Kind.RAW_CLIP: "NumFrames FPS fps meta/skeleton",
    Kind.TEACHER_BATCH: _ROWS,
    Kind.TEACHER_PREDICTION: _ROWS,
}
_DIVIDED = ("meta/state_layout", "meta/output_layout", "Frames")
"""Sections in which each member counts as one part: each slice, each frame."""
_OF_A_SYSTEM = ("vectors", "conventions", "constants", "given", "stages", "numbers", "networks", "names")
"""Sections of other systems' contracts: the file is one part, and each member of a section."""
_UNREADABLE = (
    structure.rules.WRONG_TYPE,
    structure.rules.MISSING_KEY,
    structure.rules.WRONG_ROW_LENGTH,
    structure.rules.VALUE_NOT_ALLOWED,
)


def account(subject: Artefacts, findings: Iterable[Finding]) -> Ledger:
    """Count what the artefacts declare and how much of it could be judged.

    A part is a section that rules read: a statistics array, a slice of a layout, a frame of a clip, an array of rows, an input
    or output of a model. Declared are the parts that the given files hold or must hold; a companion that was not given is not
    counted. Compared are the parts that the rules could read. A part is missing if its JSON has the wrong shape, or if the
    file must hold it and does not. Of another system's contract nothing is judged where any shape is wrong, of its models and
    recordings only what belongs to a known system. Nothing is waived.
    """
    found = list(findings)
    system = None if subject.system is None else subject.system.document
    broken: dict[str, set[str]] = {}
    for finding in found:
        if finding.rule in _UNREADABLE:
            place = finding.pointer + json_pointer(*filter(None, [finding.values.get("key")]))
            broken.setdefault(finding.file, set()).add(place)
    declared, missing = (0, 0) if system is None else _of_contract(system, found)
    for document in (each for each in subject.documents if each is not system):
        places = broken.get(str(document.path), set())
        around = {each for place in places for each in _around(place)}
        for part in _parts(document):
            declared += 1
            missing += part in around or not places.isdisjoint(_around(part))
    parts = [(declared, declared - missing), _of_models(subject), *_of_recordings(subject, found)]
    return Ledger(sum(declared for declared, _ in parts), sum(compared for _, compared in parts))


def _of_contract(document: Document, findings: Sequence[Finding]) -> tuple[int, int]:
    """Parts of another system's contract that are declared, and those of them that are missing."""
    sections = (document.data.get(name) for name in _OF_A_SYSTEM)
    declared = 1 + sum(len(section) for section in sections if isinstance(section, Mapping | list))
    missing = sum(finding.rule is contract_files.rules.VECTOR_MISSING for finding in findings)
    if not has_its_shape(document):
        return declared, declared
    if any(finding.rule is contract_files.rules.UNKNOWN_SYSTEM for finding in findings):
        return declared, declared - 1
    return declared + missing, missing


def _of_models(subject: Artefacts) -> tuple[int, int]:
    """Inputs and outputs of every model; its nodes and weights, which most rules are about, where they were not read."""
    given = () if subject.system is None else tuple(each.signature for each in subject.system.models)
    given += () if subject.model is None else (subject.model,)
    tensors = (sum(len(each.inputs) + max(len(each.outputs), 1) for each in some) for some in (given, subject.models))
    declared, compared = tensors
    return declared, compared


def _of_recordings(subject: Artefacts, findings: Sequence[Finding]) -> Iterator[tuple[int, int]]:
    others = {finding.file for finding in findings if finding.rule is contract_files.rules.OTHER_SYSTEM}
    files = subject.system
    for each in () if files is None else files.recordings:
        is_judged = files is not None and files.contract is not None and str(each.path) not in others
        yield len(each.stages), len(each.stages) if is_judged else 0


def _parts(document: Document) -> Iterator[str]:
    required = _REQUIRED[document.kind].split()
    for path in (*required, *_OPTIONAL[document.kind].split()):
        value = member(document.data, *path.split("/"))
        if path in _DIVIDED and isinstance(value, Mapping | list) and value:
            yield from (
                f"/{path}{json_pointer(key)}" for key in (value if isinstance(value, Mapping) else range(len(value)))
            )
        elif value is not None or path in required:
            yield f"/{path}"


def _around(pointer: str) -> Iterator[str]:
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


FAMILIES: tuple[Family, ...] = (
    structure.FAMILY, bundle_layout.LOADING, bundle_layout.FAMILY, bundle_statistics.FAMILY, bundle_body.FAMILY,
    bundle_declaration.FAMILY, bundle_statistics.COMPANION, model_graph.BINDING, model_graph.FAMILY, clip_frames.FAMILY,
    clip_motion.FAMILY, teacher_rows.FAMILY, prediction.HISTORY, prediction.FAMILY, across_files.RECORDED_OUTPUT,
    across_files.CLIP_OF_BUNDLE, clip_pose.FAMILY, across_files.ROWS_OF_CLIP, contract_files.LOADING, contract_files.HOSTED,
    contract_files.RECORDED, recorded_sizes.FAMILY, contract_files.DECLARED, declared_contract.FAMILY, declared_models.FAMILY,
    model_graph.STAMPED,
)  # fmt: skip
"""In the order in which they are checked and shown."""
MEASURED: tuple[Texts, ...] = (*answers.families.values(), *geometry.families.values())
"""Rules about no file: their findings come with a measurement."""
ALL_RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in (*FAMILIES, *MEASURED) for rule in family.rules), key=lambda rule: rule.code)
)
"""Every rule, by code."""
RETIRED = ("RP415", "RP416", "RP417", "RP418", "RP419", "RP427", "RP451", "RP979")
"""Codes of rules that are gone; never to be used again."""
_SEVERITIES = list(Severity)


def check(subject: Artefacts) -> FindingsReport:
    """Run every rule on what is given; `account` explains the ledger.

    Findings stand in the order of the files; within a file, the worst stand first.
    """
    found = list(findings(subject, FAMILIES))
    order = {file["path"]: place for place, file in enumerate(subject.files)}

    def rank(finding: Finding) -> tuple[int, int, str]:
        severity = _SEVERITIES.index(finding.rule.severity)
        return order.get(finding.file, len(order)), severity, finding.rule.code

    return FindingsReport(tuple(sorted(found, key=rank)), account(subject, found), {"files": subject.files})


def check_bundle(document: Document, companion: Document | None = None) -> Iterator[Finding]:
    """Yield every finding about a bundle (and its companion)."""
    return findings(Artefacts(document, companion), FAMILIES)
