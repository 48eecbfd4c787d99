"""The example at the end of every help, with the files of the demo. A test runs each of them."""

from collections.abc import Mapping

_CHARACTER, _ROBOT = "rigpact demo --into demo", "rigpact demo robot --into robot"
_PROJECT = (_CHARACTER, "rigpact init demo")
_NEURARIG = "fixtures/bundles/neurarig"
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": ("rigpact demo",),
    "demo": ("rigpact demo robot",),
    "check": (_CHARACTER, "rigpact check demo"),
    "explain": (_ROBOT, "rigpact explain robot/run.csv --contract robot/contract.toml"),
    "diff": (
        _ROBOT,
        "rigpact run robot/run.csv --contract robot/contract.toml --mode free -o run.trace.bin",
        "rigpact diff run.trace.bin robot/run.csv --contract robot/contract.toml",
    ),
    "nan": (_ROBOT, "rigpact nan robot/run.csv --contract robot/contract.toml"),
    "gate": (*_PROJECT, "rigpact gate --config demo/rigpact.toml"),
    "init": (_CHARACTER, "rigpact init demo", "rigpact init demo --status"),
    "convert": (_ROBOT, "rigpact convert robot/run.csv --contract robot/contract.toml -o run.npz"),
    "codegen": (_ROBOT, "rigpact codegen robot/contract.toml -o contract.hpp"),
    "neurarig": (f"rigpact neurarig serve --onnx {_NEURARIG}/model.onnx",),
    "neurarig serve": (f"rigpact neurarig serve --onnx {_NEURARIG}/model.onnx",),
    "show": (_ROBOT, "rigpact show robot/contract.toml", "rigpact show RP104"),
    "run": (_ROBOT, "rigpact run robot/run.csv --contract robot/contract.toml -o run.trace.bin"),
    "sweep": (_ROBOT, "rigpact sweep robot/run.csv --contract robot/contract.toml --onnx robot --mode free -o results"),
}
"""The words of a command -> the lines to type."""


def example(words: str = "") -> str:
    """The lines as typer's epilog: `\\b` keeps each as it is."""
    lines = EXAMPLES[words]
    return "\b\n" + (f"Example: {lines[0]}" if len(lines) == 1 else "\n  ".join(("Example:", *lines)))
