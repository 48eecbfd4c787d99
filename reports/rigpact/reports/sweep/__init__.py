"""Many runs at once: clips × checkpoints × conventions, in processes of this machine, resumable.

    plan       the cells to measure, in a fixed order; a hash of all its inputs names each cell
    measure    one cell: run, compare with the clip, judge
    sweep      measures what is missing, keeps a journal, writes Parquet, says the worst cells and the best checkpoints

To add a measurement: a field of `measure.MeasuredCell`, which is a column of the results too.
"""
