"""Which rules a check runs on which files, so that a test view can list those that found nothing.

A family of rules needs files of some kinds: a clip is measured against a bundle only where both are there. To add a family:
its module's name in the row of the kinds that it needs. A family without a row shows in test views only when it finds something.
"""

from __future__ import annotations

from collections.abc import Iterable

from rigpact.contract.findings import Rule

MODEL = "model"
_BUNDLE, _COMPANION, _CLIP, _BATCH, _PREDICTION = (
    "bundle",
    "companion",
    "raw_clip",
    "teacher_batch",
    "teacher_prediction",
)
_NEEDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    *(((kind,), ("json_text", "structure")) for kind in (_BUNDLE, _COMPANION, _CLIP, _BATCH)),
    ((_BUNDLE,), ("layout", "timing", "condition", "statistics", "statistics_meaning", "derived", "rotation_spec")),
    ((_BUNDLE,), ("skeleton", "symmetry", "declaration")),
    ((_BUNDLE, _COMPANION), ("companion",)),
    ((MODEL,), ("model", "model_graph", "model_weights")),
    ((_CLIP,), ("clips", "clip_rotations", "root_motion", "clip_condition", "feet", "angular_velocity")),
    ((_CLIP, _BUNDLE), ("across",)),
    ((_BATCH,), ("teacher", "teacher_rows")),
    ((_BATCH, _BUNDLE), ("history",)),
    ((_PREDICTION, _BUNDLE), ("prediction",)),
    ((_CLIP, _BATCH), ("rows_of_clip",)),
)
_KINDS = {_BUNDLE, _COMPANION, _CLIP, _BATCH, _PREDICTION, MODEL}


def rules_run(kinds: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of every family whose files are among the kinds of the files that were read.

    None where there is a file of another kind: then it was another system's rules that were run.
    """
    from rigpact.contract.rules import FAMILIES

    given = set(kinds)
    if not given <= _KINDS:
        return ()
    if _PREDICTION in given:
        given.add(_BATCH)  # it holds the batch's rows too
    families = {family.__name__.rpartition(".")[2]: family for family in FAMILIES}
    names = dict.fromkeys(name for needed, names in _NEEDS if given.issuperset(needed) for name in names)
    return tuple(rule for name in names for rule in families[name].RULES)
