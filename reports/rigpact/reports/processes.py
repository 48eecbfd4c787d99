"""Processes of one command on this machine: they end when it does."""

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from rigpact.contract.declared.vocabulary import files_of_operations


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
