"""The arithmetic of runtimes, one file per operation: normalise, squash, compose, history, rot6d."""
