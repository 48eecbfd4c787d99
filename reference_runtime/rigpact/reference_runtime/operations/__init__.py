"""The arithmetic of runtimes, each formula once: rotations, six numbers, one number at a time; numpy, no contract."""
