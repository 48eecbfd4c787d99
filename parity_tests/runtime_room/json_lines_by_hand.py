"""Traces as lines of JSON, written by hand: for the tests of readers."""

import json

HEADER = {"format": "rigpact-trace", "version": 1, "fps": 60.0, "mode": "free", "stages": {"cond": 7, "contacts": 2}}


def lines(path, *entries, end="\n"):
    path.write_text("\n".join(json.dumps(entry) for entry in entries) + end, encoding="utf-8")
    return path


def frame(number, **changed):
    stages = {"cond": [float(number)] * 7, "contacts": [0.5, -0.5]}
    return {"frame": number, "time": number / 60.0, "stages": stages, **changed}
