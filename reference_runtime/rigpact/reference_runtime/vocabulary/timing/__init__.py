"""From one frame to the next: differences and sums over time."""
