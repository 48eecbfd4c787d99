"""Find where a NaN first appears: producers, precursors, guards."""
