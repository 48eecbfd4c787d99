"""A recording that is still being written, judged while it grows."""
