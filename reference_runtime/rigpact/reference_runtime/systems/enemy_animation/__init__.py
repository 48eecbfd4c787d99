"""The enemy animation: the engine's loop, frame by frame, and the tolerances between two correct loops."""
