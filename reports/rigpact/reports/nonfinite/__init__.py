"""Where a NaN is born: producers, precursors, guards, shrunk reproductions.

To teach it a stage: a row in operands.OPERATION. To add a guard: a row in guards.GUARDS.
"""

from __future__ import annotations
