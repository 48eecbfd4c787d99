"""Many runs at once: clips × checkpoints × conventions, on this machine or on a cluster, resumable.

    plan       what is to be measured: cells in a fixed order, each named by a hash of all that it depends on
    measure    one cell: run, hold against the clip, judge
    journal    what is done, kept cell by cell, so that nothing is computed twice
    workers    cells in processes of this machine; cluster: on Dask
    results    rows in the plan's order, streamed to Parquet
    summary    worst cells, best checkpoint of each clip; text for people
    sweep      puts them together

To measure something more: a field of `measure.Measured` and a column of the same name in `results.COLUMNS`.
"""

from __future__ import annotations
