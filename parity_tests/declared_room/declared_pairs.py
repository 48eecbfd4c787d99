"""Named edits of a declared contract, each labelled by hand with what it changes and for whom; and a second robot's contract.

The letters are those of `bundle_edits`: E engine layout, M engine maths, R retrain, T trace, C cosmetic.
"""

from dataclasses import dataclass

from .declared_rule_cases import FOUR, MEAN, SPREAD

Edits = tuple[tuple[str, str], ...]
_OBS = 'operation = "concatenate", of ='


def history(
    length: int, layout: str = "term_major", order: str = "oldest_first", start: str = "first"
) -> tuple[str, str]:
    """`obs` as a history."""
    kept = f'operation = "history", length = {length}, layout = "{layout}", order = "{order}", start = "{start}", of ='
    return _OBS, kept


@dataclass(frozen=True)
class DeclaredPair:
    """Edits of the sample, the kinds of change and their classes; `before` is what both sides have."""

    name: str
    edits: Edits
    kinds: str
    classes: str
    before: Edits = ()

    @property
    def texts(self) -> tuple[str, str]:
        """The old and the new text."""
        old = edited(FOUR, self.before)
        return old, edited(old, self.edits)


def edited(text: str, edits: Edits) -> str:
    """The text with every edit made once."""
    for old, new in edits:
        assert old in text, f"{old} is not in the text"
        text = text.replace(old, new, 1)
    return text


_ORDER = [0, 2, 1, 3]
_NUMBERS = tuple(
    (str(values), str([values[place] for place in _ORDER])) for values in (MEAN, SPREAD, [0.1, 0.15, -0.4, -0.45])
)
_LISTS = (
    'policy = ["left_hip", "right_hip", "left_knee", "right_knee"]',
    'policy = ["left_hip", "left_knee", "right_hip", "right_knee"]',
)
_REPLACED = (
    '{ name = "moved", operation = "replaced", of = ["q", "sticks"], taken = ["left_hip", "left_knee", "right_hip"] },\n    '
    '{ name = "bent"'
)
DECLARED_PAIRS = (
    DeclaredPair("the network has another order of joints", (_LISTS, *_NUMBERS), "fields-reordered", "ERT"),
    DeclaredPair("numbers in another order of names", (
        ('names = "policy", value = [0.1, 0.15, -0.4, -0.45]', 'names = "motors", value = [0.1, -0.4, 0.15, -0.45]'),
    ), "spelled-differently", "C"),
    DeclaredPair("a pose that two stages take", (("-0.45]", "-0.5]"),), "constant-changed", "MRT"),
    DeclaredPair("a rounding of float32", (("0.25731", "0.257310005"),), "constant-rounded", "C"),
    DeclaredPair("a factor for each joint", (("scale = 0.25", "scale = [0.25, 0.25, 0.3, 0.3]"),), "constant-changed", "MRT"),
    DeclaredPair("the same factor for each joint", (("scale = 0.25", "scale = [0.25, 0.25, 0.25, 0.25]"),),
        "spelled-differently", "C"),
    DeclaredPair("a factor of 1 that is written down", (('operation = "affine", of = "joints"',
        'operation = "affine", scale = 1, of = "joints"'),), "spelled-differently", "C"),
    DeclaredPair("a factor that is new", (('operation = "affine", of = "joints"',
        'operation = "affine", scale = 2, of = "joints"'),), "constant-changed", "MRT"),
    DeclaredPair("a stage that scales is new", (
        ('{ name = "command"', '{ name = "rate", operation = "affine", of = "gyro", scale = 0.2 },\n    { name = "command"'),
        ('["gyro", "gravity"', '["rate", "gravity"'),
    ), "stage-added", "ERT"),
    DeclaredPair("a stage has another name", (
        ('{ name = "bent"', '{ name = "angles"'), ('of = "bent"', 'of = "angles"'),
    ), "stage-added stage-removed", "ERT"),
    DeclaredPair("terms in another order", (('["gyro", "gravity"', '["gravity", "gyro"'),), "stage-computed-otherwise", "MRT"),
    DeclaredPair("another operation", (('operation = "clip", of = "sticks", lowest = -0.5, highest = 1',
        'operation = "affine", of = "sticks", scale = 0.5'),), "stage-computed-otherwise", "MRT"),
    DeclaredPair("a history of three frames", (history(3),), "history-length-changed", "ERT"),
    DeclaredPair("a history of one frame", (history(1),), "spelled-differently", "C"),
    DeclaredPair("another layout of the history", (("term_major", "frame_major"),), "convention-changed", "MRT", (history(3),)),
    DeclaredPair("another direction", (('direction = "inverse"', 'direction = "forward"'),), "convention-changed", "MRT"),
    DeclaredPair("a choice that was open is written down as it was assumed",
        (("[0, 0, -1]", '[0, 0, -1], direction = "forward"'),), "declaration-added", "C", ((', direction = "inverse"', ""),)),
    DeclaredPair("a choice that a profile gives is written down", (('tilt", size = 4', 'tilt", kind = "quaternion_wxyz"'),),
        "field-kind-changed", "MRT",
        (('kind = "quaternion_wxyz"', "size = 4"), ("fps = 50", 'fps = 50\nprofile = "isaaclab-2"'))),
    DeclaredPair("the quaternion has another order", (("quaternion_wxyz", "quaternion_xyzw"),),
        "field-kind-changed convention-changed", "MRT"),
    DeclaredPair("another unit", (('unit = "rad/s"', 'unit = "deg/s"'),), "field-unit-changed", "MRT"),
    DeclaredPair("another unit of every joint", (('unit = "rad" }', 'unit = "deg" }'),), "field-unit-changed", "MRT"),
    DeclaredPair("another frame", (('space = "body"', 'space = "head"'),), "field-space-changed", "MRT"),
    DeclaredPair("another range of the sticks", (("low = -1", "low = -2"),), "field-range-changed", "T"),
    DeclaredPair("what is fed back", (('carried = "action"', 'carried = "target"'),), "convention-changed", "MRT"),
    DeclaredPair("which of its numbers are fed back",
        (('carried = "action"', 'carried = "action", carried_fields = ["left_hip"]'),), "convention-changed", "MRT"),
    DeclaredPair("every one of them by its name",
        (('carried = "action"', 'carried = "action", carried_fields = "policy"'),), "spelled-differently", "C"),
    DeclaredPair("which fields a stage replaces", (('taken = ["left_hip", "left', 'taken = ["left_hip", "right'),),
        "convention-changed", "MRT", (('{ name = "bent"', _REPLACED),)),
    DeclaredPair("what it starts with", (('start = "zeros"', "start = 0.1"),), "constant-changed", "MRT"),
    DeclaredPair("what the network takes", (('inputs = ["obs"]', 'inputs = ["command"]'),), "stage-computed-otherwise", "MRT"),
    DeclaredPair("another rate", (("fps = 50", "fps = 60"),), "frame-rate-changed", "MRT"),
    DeclaredPair("the network has another name", (("[networks.policy]", "[networks.actor]"),),
        "stage-removed stage-added", "ERT"),
    DeclaredPair("a sensor more", (("given = [", 'given = [\n    { name = "height", size = 7 },'),), "stage-added", "ERT"),
    DeclaredPair("a title", (("fps = 50", 'title = "Four joints"\nfps = 50'),), "bookkeeping-changed", "C"),
    DeclaredPair("other columns of recordings", (("[names]", '[recordings]\nq = "joint_q"\n\n[names]'),),
        "recording-columns-changed", "T"),
    DeclaredPair("a profile of what was declared", (("fps = 50", 'fps = 50\nprofile = "isaaclab-2"'),), "declaration-added", "C"),
    DeclaredPair("another handedness", (('"orangeduck"', '"unity"'),), "handedness-changed", "MRT",
        (("fps = 50", 'fps = 50\nprofile = "orangeduck"'),)),
    DeclaredPair("numbers that nobody takes", (("mean = [", "unused = [1, 2]\nmean = ["),), "spelled-differently", "C"),
)  # fmt: skip
SECOND: Edits = (
    ('name = "unitree_rl_lab_g1"', 'name = "second"'),
    ('names = "policy", carried', 'names = "sdk", carried'),
    ('    { name = "base_ang_vel", operation = "affine", of = "gyro", '
     "scale = { value = 0.2, wrong = { legged_gym = 0.25 } } },\n", ""),
    ("lowest = [-0.5, -0.3, -0.2], highest = [1, 0.3, 0.2]", "lowest = [-0.5, -0.5, -1], highest = [1, 0.5, 1]"),
    ('of = "q", take = "policy"', 'of = "q", take = "sdk"'),
    ('of = "dq", take = "policy"', 'of = "dq", take = "sdk"'),
    ('    { name = "joint_vel_rel", operation = "affine", of = "joint_vel", scale = 0.05 },\n', ""),
    ('operation = "history", length = 5, layout = "term_major", order = "oldest_first", start = "first"',
        'operation = "concatenate"'),
    ('"base_ang_vel", "projected_gravity"', '"gyro", "projected_gravity"'),
    ('"joint_vel_rel", "last_action"', '"joint_vel", "last_action"'),
    ('{ name = "action", operation = "network", names = "policy" }', '{ name = "action", operation = "network", names = "sdk" }'),
    ("scale = 0.25, offset", "scale = [" + ", ".join(["0.55, 0.35, 0.55, 0.35, 0.44, 0.44"] * 2 + ["0.35, 0.44, 0.44"]
        + ["0.44, 0.44, 0.44, 0.44, 0.44, 0.07, 0.07"] * 2) + "], offset"),
    ("0.3, 0.3, 0.3, 0.3,", "0.3, 0.3, 0.35, 0.35,"), ("0.25, -0.25,", "0.18, -0.18,"),
    ("0.97, 0.97, 0.15, -0.15,", "0.87, 0.87, 0, 0,"),
)  # fmt: skip
"""What the contract of another training stack for the same robot says otherwise, by its documentation."""
