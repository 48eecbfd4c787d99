"""`rigpact init`, with `--from` and without: declarations drafted from what other people's stacks export.

One module of stacks/ a format makes a `Draft` (draft.py): what the file says; what its stack's convention says, with a comment
where that is from; and what stays open. toml_text.py writes it. formats.py tells the formats apart. Nothing is executed, and what
a file does not say is never filled in silently.

To add a format: a module of stacks/ with `to_draft(root, request)`, and its row in formats.py.
"""
