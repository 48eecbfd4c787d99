"""What works beside a command: the user's own modules, and processes that end when it does."""

import importlib.util
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rigpact.contract.declared.vocabulary import files_of_operations
from rigpact.contract.errors import UnusableInput, error_text, line_of
from rigpact.contract.files import read_bytes


# Python modules of the user. Loading one runs its code, so nothing names one but the words of a command.
def imported(place: str, load: Callable[[], ModuleType], missing: str = "") -> ModuleType:
    """The module that `load` imports; UnusableInput with the error if it fails.

    missing: what to do where it imports something that is not found.
    """
    try:
        with redirect_stdout(sys.stderr):  # the module's own output must not get into a machine format
            return load()
    except UnusableInput:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's module
        found = f"a module that cannot be imported ({error_text(error)}{line_of(error, place)})"
        raise UnusableInput(place, found, "a module", missing if isinstance(error, ImportError) else "") from None


def module_of_file(path: Path, source: bytes) -> ModuleType:
    """The module that the bytes of a Python file make. No compiled file is read or written: these bytes run, and no others."""
    name = f"_rigpact_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.origin is None:
        raise UnusableInput(path, "no Python file", "a name ending in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations need it there
    exec(compile(source, spec.origin, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - a command named it
    return module


def use_operations(files: Sequence[str]) -> None:
    """Load modules, and bring the operations that stand in them under a name of the module. What came before is forgotten.

    Modules beside a file are not found: only what is installed, or in PYTHONPATH. So a file of that folder never stands in for
    a package.
    """
    from rigpact.contract.declared.operation import Operation
    from rigpact.contract.declared.vocabulary import bring_operations, forget_operations

    forget_operations()
    for file in dict.fromkeys(files):
        path = Path(file)
        code = read_bytes(path)
        missing = "its imports must be installed, or in a folder of PYTHONPATH"
        module = imported(file, partial(module_of_file, path, code), missing)
        found = list({id(value): value for value in vars(module).values() if isinstance(value, Operation)}.values())
        if not found:
            expected = "at least one Operation, under a name of the module"
            hint = "from rigpact.contract.declared.operation import Operation"
            raise UnusableInput(file, "a module without an operation", expected, hint)
        bring_operations(found, file, code)


def processors() -> int:
    """How many processors this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def other_processes(most: int) -> int:
    """How many processes may work beside this one; none where your own operations are known to this one only."""
    return 0 if files_of_operations() else min(most, processors() - 1)


def process_pool(processes: int, begin: Callable[..., None] | None = None, *arguments: Any) -> ProcessPoolExecutor:
    """Processes that share nothing with this one; each calls `begin` first. A fork would copy onnxruntime's threads in an unknown
    state."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each process reads it when it starts: together they use all
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, spawn, initializer=_begin, initargs=(begin, arguments))


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Let the process end with its command, however that ends: SIGTERM and SIGKILL leave nobody who could tell it."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"rigpact\.")  # as in the command itself
    command = multiprocessing.parent_process()
    if command is not None:
        threading.Thread(target=_end_after, args=(command,), daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_after(command: multiprocessing.process.BaseProcess) -> None:
    command.join()
    os._exit(1)
