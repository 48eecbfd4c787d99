"""The enemy animation: the engine's loop, frame by frame, and how far two correct loops may differ."""
