"""What runtimes do to numbers, one file each: normalise, squash, compose, history, rot6d."""
