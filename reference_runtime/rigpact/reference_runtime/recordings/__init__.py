"""Files that either side records: clips, traces, teacher predictions; each read into one form."""
