"""`rigpact init`, with `--from` and without: declarations drafted from what other people's stacks export.

A module a stack makes a `Draft` (draft.py): what the file says; what its stack's convention says, with a comment where that is
from; and what stays open. formats.py tells the formats apart. Nothing is executed, and what a file does not say is never filled
in silently. Without `--from`, drafting.py looks into a folder: how a recorded vector is made of others is found by observation.py
(its history), segments.py (its terms), affine.py (scales and offsets) and stages.py.

To add a format: a function (root, request) that makes a draft, and its row in formats.py.
"""
