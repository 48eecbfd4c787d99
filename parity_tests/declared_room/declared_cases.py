"""A small contract of your own, and many ways to damage it: what the answer must say, and where."""

from collections.abc import Mapping
from pathlib import Path

SMALL = """format = "rigpact-contract"
version = 1
name = "two_joints"
title = "Two joints that keep their balance"
fps = 50

[names]
policy = ["hip", "knee"]
motors = ["knee", "hip"]

[numbers]
pose = { value = [0.1, -0.4], names = "policy" }
limits = [0.5, 1.5]
spread = { file = "stats.json", at = "/std" }

[networks.policy]
inputs = ["obs"]
outputs = ["action"]

[recordings]
q = "joint_q"

[[given]]
name = "q"
names = "motors"
unit = "rad"

[[given]]
name = "tilt"
kind = "quaternion_wxyz"

[[given]]
name = "last_action"
names = "policy"
carried = "action"
start = "zeros"

[[stages]]
name = "gravity"
operation = "rotate"
of = "tilt"
vector = [0, 0, -1]
direction = "inverse"

[[stages]]
name = "joints"
operation = "select"
of = "q"
take = "policy"

[[stages]]
name = "bent"
operation = "affine"
of = "joints"
subtract = "pose"
scale = 0.5

[[stages]]
name = "normal"
operation = "normalise"
of = "bent"
mean = 0
std = "spread"

[[stages]]
name = "obs"
operation = "history"
of = ["gravity", "normal", "last_action"]
length = 2
layout = "term_major"
order = "oldest_first"
start = "first"

[[stages]]
name = "action"
operation = "network"
names = "policy"

[[stages]]
name = "target"
operation = "clip"
of = "action"
lowest = -2
highest = "limits"
"""
STATISTICS = '{"mean": [0.0, 0.0], "std": [0.25, 0.5], "words": ["a"], "empty": []}'

DAMAGES: Mapping[str, tuple[str, str, str, str, str, str]] = {
    # name: (text, its replacement, code, place, a word of what was found, a word of what was expected)
    "another_format": ('"rigpact-contract"', '"rigpact-contrakt"', "", "#", "an object", "declaration"),
    "another_version": ("version = 1", "version = 2", "RP023", "/version", "2", "const 1"),
    "version_as_text": ("version = 1", 'version = "1"', "RP023", "/version", "1", "const 1"),
    "no_name": ('name = "two_joints"\n', "", "RP021", "", "name", "missing"),
    "name_with_blanks": ('"two_joints"', '"Two joints"', "RP023", "/name", "Two joints", "pattern"),
    "name_is_a_number": ('"two_joints"', "7", "RP020", "/name", "7", "string"),
    "fps_is_zero": ("fps = 50", "fps = 0", "RP023", "/fps", "0", "more than 0"),
    "fps_in_words": ("fps = 50", 'fps = "50"', "RP020", "/fps", "50", "number"),
    "fps_is_not_finite": ("fps = 50", "fps = nan", "RP744", "/fps", "nan", "finite"),
    "unknown_section": ("[numbers]", "[number]", "RP740", "/number", "number", "numbers"),
    "names_empty": ('policy = ["hip", "knee"]', "policy = []", "RP022", "/names/policy", "0", "1"),
    "names_of_numbers": ('policy = ["hip", "knee"]', "policy = [1, 2]", "RP020", "/names/policy/0", "1", "string"),
    "name_twice_in_a_list": ('policy = ["hip", "knee"]', 'policy = ["hip", "hip"]', "RP747", "/names/policy", "hip", "once"),
    "numbers_in_words": ("value = [0.1, -0.4]", 'value = ["0.1", "-0.4"]', "RP744", "/numbers/pose", "0.1", "number"),
    "numbers_not_finite": ("limits = [0.5, 1.5]", "limits = [0.5, inf]", "RP744", "/numbers/limits", "inf", "finite"),
    "numbers_ragged": ("limits = [0.5, 1.5]", "limits = [[0.5], [1.5, 2]]", "RP744", "/numbers/limits", "[[0.5]", "number"),
    "numbers_empty": ("limits = [0.5, 1.5]", "limits = []", "RP023", "/numbers/limits", "array of 0", "list of numbers"),
    "numbers_and_names": ("value = [0.1, -0.4]", "value = [0.1]", "RP743", "/numbers/pose", "1 number", "2"),
    "names_of_numbers_unknown": ('names = "policy" }', 'names = "polcy" }', "RP740", "/numbers/pose/names", "polcy", "policy"),
    "source_absent": ('"stats.json"', '"stat.json"', "RP745", "/numbers/spread", "stat.json", "file"),
    "source_outside": ('"stats.json"', '"../stats.json"', "RP745", "/numbers/spread", "../stats.json", "inside"),
    "source_absolute": ('"stats.json"', '"/etc/passwd"', "RP745", "/numbers/spread", "/etc/passwd", "inside"),
    "source_of_a_drive": ('"stats.json"', '"C:\\\\stats.json"', "RP745", "/numbers/spread", "stats.json", "inside"),
    "source_of_no_format": ('"stats.json"', '"stats.txt"', "RP745", "/numbers/spread", "stats.txt", ".json"),
    "source_key_unknown": ('at = "/std"', 'at = "/sdt"', "RP740", "/numbers/spread/at", "/sdt", "std"),
    "source_key_missing": (', at = "/std"', "", "RP745", "/numbers/spread", "nothing", "mean"),
    "source_of_words": ('at = "/std"', 'at = "/words"', "RP744", "/numbers/spread", "a", "number"),
    "source_inside_a_number": ('at = "/std"', 'at = "/std/0/x"', "RP745", "/numbers/spread/at", "/std/0/x", "a path inside"),
    "source_beyond_a_list": ('at = "/std"', 'at = "/std/2"', "RP745", "/numbers/spread/at", "/std/2", "2 is not there"),
    "source_with_a_typo": ('{ file = "stats.json"', '{ fiel = "stats.json"', "RP023", "/numbers/spread", "object", "file"),
    "network_without_inputs": ('inputs = ["obs"]\n', "", "RP021", "/networks/policy", "inputs", "missing"),
    "network_takes_nothing": ('inputs = ["obs"]', "inputs = []", "RP023", "/networks/policy/inputs", "array of 0", "stages"),
    "network_takes_a_stranger": ('inputs = ["obs"]', 'inputs = ["obz"]', "RP740", "/networks/policy/inputs", "obz", "obs"),
    "network_gives_a_stranger": (
        'outputs = ["action"]', 'outputs = ["acton"]', "RP740", "/networks/policy/outputs", "acton", "a",
    ),
    "network_gives_a_sensor": (
        'outputs = ["action"]', 'outputs = ["action", "q"]', "RP748", "/networks/policy/outputs", "q", "network",
    ),
    "network_file_absent": (
        'inputs = ["obs"]', 'file = "no.onnx"\ninputs = ["obs"]', "RP745", "/networks/policy/file", "no.onnx", "file",
    ),
    "recording_of_a_stranger": ('q = "joint_q"', 'qq = "joint_q"', "RP740", "/recordings/qq", "qq", "q"),
    "names_taken_from_nowhere": ('take = "policy"', "take = 5", "RP741", "/stages/1/take", "5", "a list of names"),
    "number_without_value": ("scale = 0.5", "scale = { wrong = { two = 1 } }", "RP741", "/stages/2/scale", "value", "NUMBERS"),
    "given_without_name": ('name = "q"\n', "", "RP021", "/given/0", "name", "missing"),
    "given_without_fields": ('names = "motors"\n', "", "RP741", "/given/0", "q", "size"),
    "given_names_unknown": ('names = "motors"', 'names = "motor"', "RP740", "/given/0/names", "motor", "motors"),
    "given_kind_unknown": ('"quaternion_wxyz"', '"quaternion_wzyx"', "RP740", "/given/1/kind", "wzyx", "quaternion_wxyz"),
    "given_kind_and_size": ('kind = "quaternion_wxyz"', 'kind = "quaternion_wxyz"\nsize = 3', "RP743", "/given/1/size", "3", "4"),
    "given_key_misspelt": ('unit = "rad"', 'units = "rad"', "RP740", "/given/0/units", "units", "unit"),
    "given_range_turned": ('unit = "rad"', "low = 1\nhigh = -1", "RP744", "/given/0", "1", "below"),
    "given_twice": ('name = "tilt"', 'name = "q"', "RP747", "/given/1/name", "q", "own"),
    "carried_unknown": ('carried = "action"', 'carried = "acton"', "RP740", "/given/2/carried", "acton", "action"),
    "carried_of_another_width": ('carried = "action"', 'carried = "gravity"', "RP743", "/given/2/carried", "3", "2"),
    "carried_fields_unknown": (
        'carried = "action"', 'carried = "action"\ncarried_fields = ["hp"]', "RP740", "/given/2/carried_fields", "hp", "hip",
    ),
    "carried_fields_of_nothing": (
        'carried = "action"\nstart = "zeros"', 'carried_fields = "policy"', "RP741", "/given/2/carried", "nothing", "taken over",
    ),
    "start_of_another_width": ('start = "zeros"', "start = [1, 2, 3]", "RP743", "/given/2/start", "3", "2"),
    "start_unknown": ('start = "zeros"', 'start = "zeroes"', "RP740", "/given/2/start", "zeroes", "[numbers]"),
    "operation_unknown": ('operation = "select"', 'operation = "selct"', "RP740", "/stages/1/operation", "selct", "select"),
    "operation_missing": ('operation = "select"\n', "", "RP021", "/stages/1", "operation", "missing"),
    "left_open_of_no_vector": (
        'kind = "quaternion_wxyz"', 'kind = "quaternion_wxyz"\nleft_open = ["word"]', "RP023", "/given/1/left_open/0", "word",
        "operation",
    ),
    "left_open_unknown": (
        'direction = "inverse"', 'direction = "inverse"\nleft_open = ["vector"]',
        "RP740", "/stages/0/left_open/0", "vector", "direction",
    ),
    "of_unknown": ('of = "joints"', 'of = "jonts"', "RP740", "/stages/2/of", "jonts", "joints"),
    "of_a_later_stage": ('of = "joints"', 'of = "normal"', "RP742", "/stages/2/of", "normal", "earlier"),
    "of_too_many": ('of = "joints"', 'of = ["joints", "q"]', "RP741", "/stages/2/of", "2", "1"),
    "of_nothing": ('of = "joints"\n', "", "RP741", "/stages/2/of", "0", "1"),
    "of_a_vector_that_is_no_rotation": ('of = "tilt"', 'of = "q"', "RP743", "/stages/0/of", "2", "4"),
    "parameter_misspelt": ("scale = 0.5", "scael = 0.5", "RP740", "/stages/2/scael", "scael", "scale"),
    "parameter_in_words": ("scale = 0.5", 'scale = "half"', "RP740", "/stages/2/scale", "half", "[numbers]"),
    "parameter_of_another_width": ("scale = 0.5", "scale = [1, 2, 3]", "RP743", "/stages/2/scale", "3", "2"),
    "parameter_missing": ('std = "spread"\n', "", "RP741", "/stages/3/std", "nothing", "std"),
    "field_unknown": ('take = "policy"', 'take = ["hip", "ankle"]', "RP740", "/stages/1/take", "ankle", "knee"),
    "field_taken_twice": ('take = "policy"', 'take = ["hip", "hip"]', "RP747", "/stages/1/take", "twice", "once"),
    "choice_unknown": ('layout = "term_major"', 'layout = "term_maior"', "RP746", "/stages/4/layout", "term_maior", "term_major"),
    "length_not_whole": ("length = 2", "length = 2.5", "RP744", "/stages/4/length", "2.5", "whole"),
    "length_zero": ("length = 2", "length = 0", "RP744", "/stages/4/length", "0", "at least 1"),
    "stage_twice": ('name = "bent"', 'name = "joints"', "RP747", "/stages/2/name", "joints", "own"),
    "answer_without_fields": (
        'operation = "network"\nnames = "policy"', 'operation = "network"', "RP741", "/stages/5", "nothing", "fields",
    ),
    "answer_of_no_network": (
        'outputs = ["action"]', 'outputs = ["target"]', "RP748", "/networks/policy/outputs", "target", "network",
    ),
    "ends_exchanged": ("lowest = -2", "lowest = 3", "RP744", "/stages/6/lowest", "below", "highest"),
    "vector_of_two": ("vector = [0, 0, -1]", "vector = [0, -1]", "RP743", "/stages/0/vector", "2", "3"),
}  # fmt: skip


def write_small(folder: Path, text: str = SMALL) -> Path:
    """The small contract, or a damaged one, with its statistics beside it."""
    (folder / "stats.json").write_text(STATISTICS, encoding="utf-8")
    path = folder / "contract.toml"
    path.write_text(text, encoding="utf-8")
    return path
