"""The result archive: measurements without thresholds, so they can be judged again by the same functions."""
