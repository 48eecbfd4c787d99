"""Many runs at once: clips × checkpoints × conventions, on this machine or on a cluster, resumable.

    plan       the cells to measure, in a fixed order; a hash of all its inputs names each cell
    measure    one cell: run, compare with the clip, judge
    journal    the finished cells, so that nothing is computed twice
    workers    measures cells here, in processes of this machine, or on Dask
    results    writes rows in the plan's order to Parquet
    summary    the worst cells and the best checkpoint of each clip, as text
    sweep      runs all of these

To add a measurement: a field of `measure.Measured`, which is a column of the results too.
"""
