"""Replaced: a vector in which some fields have the numbers of another one."""

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.named_fields import channels_of, fields_named
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame


def build(use: Use) -> Built:
    """of = [vector, new]: the numbers of `new` are those of the fields that `taken` names, in this order."""
    source, new = use.inputs
    places = channels_of(fields_named(use, source, "taken", 0))
    if len(places) != new.fields.width:
        found = f"{new.name}, {new.fields.width} numbers"
        raise Misdeclared(Wrong.WIDTH, use.at("of"), found, f"{len(places)}, as the fields of `taken` have")

    def compute(frames: Frames) -> FloatArray:
        rows = frames[source.name].copy()
        rows[:, places] = frames[new.name]
        return rows

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved, each with its own bound."""
        found = of_same_frame(upstream, source.name, rows.shape).copy()
        found[:, places] = of_same_frame(upstream, new.name, (len(rows), len(places)))
        return found

    return Built(source.fields, compute, bound, is_propagated=True)


OPERATION = Operation(
    "replaced",
    "a vector in which some fields have the numbers of another one",
    build,
    {"taken": "the fields whose numbers the second vector has, in its order, or a name of [names]"},
    (2, 2),
)
