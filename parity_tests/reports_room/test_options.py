"""Every option of every command: its name has one meaning, and one text where it takes the same thing."""

from typing import Any

import typer

from rigpact.reports.command_line import application

OPTIONS: dict[str, tuple[str, str]] = {
    "--against": ("a recording of a free run that is held against the envelope", "nan"),
    "--allow-unjudged": ("a recorded stage that may stay unjudged", "explain"),
    "--archive": ("the file that keeps results", "gate"),
    "--as": ("the stages of columns without names", "convert"),
    "--backend": ("the array library of judged functions", "check"),
    "--base": ("the git revision to compare with", "diff gate"),
    "--below": ("the arrays below a path of a file", "convert"),
    "--beside": ("the contract to show differences to", "show"),
    "--budget": ("how much a search may compute", "explain"),
    "--builds-on": ("the file that an imported one builds on", "init"),
    "--clip": ("the clip that drove a recording", "explain"),
    "--companion": ("the auxiliary statistics", "check diff explain nan run convert codegen sweep show"),
    "--config": ("the settings, in place of the nearest rigpact.toml", "check diff explain nan run gate convert sweep"),
    "--contract": ("the contract of what is judged", "check diff explain nan run convert sweep"),
    "--conventions": ("a file of conventions", "check diff explain nan run convert codegen sweep show"),
    "--deadline": ("when to give up", "explain"),
    "--drift": ("judge how a small difference grows", "nan"),
    "--each": ("judge each file by itself", "check"),
    "--engine": ("who computes a free run", "nan run sweep"),
    "--episode": ("the episode of a data set", "convert"),
    "--expires": ("the last day of a known finding", "check"),
    "--fill": ("write answers into the contract", "explain"),
    "--floor-contacts": ("measure contacts over a floor", "nan run"),
    "--force": ("write over a file that is there", "init"),
    "--format": ("what is printed", "demo init check diff explain nan run gate convert codegen sweep show"),
    "--fps": ("frames a second, where a file does not say it", "init convert"),
    "--frames": ("how many frames to run", "nan run sweep"),
    "--from": ("what to make the answer or the contract of", "init gate"),
    "--headers": ("where to copy the C++ headers", "codegen"),
    "--html": ("a page of the answer", "check diff explain nan gate"),
    "--into": ("the new folder for the demo's files", "demo"),
    "--open": ("opens the demo's page in the browser", "demo"),
    "--loop": ("write the loop too", "codegen"),
    "--map": ("the role of a judged function", "check"),
    "--mode": ("who drives a run", "explain nan run convert sweep"),
    "--module": ("the module whose functions are judged, and run", "check"),
    "--namespace": ("the C++ namespace", "codegen"),
    "--only": ("where to plant defects", "gate"),
    "--onnx": ("the model", "init check diff explain nan run codegen sweep show"),
    "--operations": (
        "a module of one's own operations, which runs",
        "init check diff explain nan run gate convert codegen sweep show",
    ),
    "--out": ("the file or folder of the result", "init run convert codegen sweep"),
    "--owner": ("who answers for known findings", "check"),
    "--patch": ("the answer as a patch of the contract", "explain"),
    "--perturb": ("a fault to inject", "nan"),
    "--probe": ("the clip that shows all that one can", "run"),
    "--processes": ("how many processes measure", "sweep"),
    "--producer": ("who recorded it", "convert"),
    "--quiet": ("print the verdict alone", "demo init check diff explain nan run gate convert codegen sweep"),
    "--reason": ("why known findings may stay", "check"),
    "--record": ("the list that a change of contracts is added to", "diff"),
    "--recording": ("the recording whose columns are matched", "init"),
    "--replay": ("recorded answers in place of a model", "explain nan run"),
    "--report": ("a further file of the answer", "check diff explain nan gate"),
    "--resolution": ("how finely numbers are written", "diff explain"),
    "--retries": ("how often a cell is tried again", "sweep"),
    "--retry-errors": ("measure cells with an error again", "sweep"),
    "--scheduler": ("the cluster that measures", "sweep"),
    "--seed": ("the seed of drawn inputs", "check"),
    "--segment": ("which part of a recording", "explain convert"),
    "--selftest": ("plant defects that the gate must notice", "gate"),
    "--set": ("a convention and its value, or values", "check diff explain nan run convert codegen sweep show"),
    "--stage": ("the stages to compare", "diff"),
    "--stamp": ("the model that the contract's hash is written into", "codegen"),
    "--state": ("what a function carries to the next row", "diff"),
    "--status": ("say what can be judged, and write nothing", "init"),
    "--strict": ("warnings fail too", "check diff run gate sweep"),
    "--table": ("the errors of each bone and frame", "diff"),
    "--teacher": ("the clip that two predictions are held against", "diff"),
    "--tick": ("the topic that gives the frames", "convert"),
    "--tolerance": ("how far numbers may be apart", "diff"),
    "--unreal": ("where to copy the Unreal plug-in", "codegen"),
    "--write": ("the folder for the schemas of an editor", "show"),
    "--write-baseline": ("the file that takes findings as known", "check"),
    "--write-contract": ("the contract of a system to write", "show"),
}
"""What an option means, and the commands that have it."""
ROOT: Any = typer.main.get_command(application())


def _parameters() -> list[tuple[str, Any]]:
    commands = {name: each for name, each in ROOT.commands.items() if not each.hidden}
    return [
        (name, each)
        for name, command in commands.items()
        for each in command.params
        if not getattr(each, "hidden", False)
    ]


def test_the_table_lists_every_option_of_every_command() -> None:
    """`--write` filled a contract here, and wrote schemas there; whoever adds an option says what its name means."""
    found: dict[str, list[str]] = {}
    for command, each in _parameters():
        if each.param_type_name == "option":
            found.setdefault(max(each.opts, key=len), []).append(command)
    assert {name: " ".join(commands) for name, commands in found.items()} == {
        name: commands for name, (_, commands) in OPTIONS.items()
    }
    meanings = [meaning for meaning, _ in OPTIONS.values()]
    assert len(set(meanings)) == len(meanings), "two names for one thing"


def test_an_option_has_the_same_words_in_every_command() -> None:
    """Two texts for one option read as two options. Where it takes another thing, its metavar says so."""
    texts: dict[tuple[str, str], set[str]] = {}
    for _, each in _parameters():
        key = each.opts[0] if each.param_type_name == "option" else "argument"
        texts.setdefault((key, each.metavar or ""), set()).add(each.help or "")
    assert {key for key, found in texts.items() if len(found) > 1} == set()
