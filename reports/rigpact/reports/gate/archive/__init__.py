"""A gate kept in a file: measurements apart from thresholds, judged again with the same functions."""
