"""The enemy animation in C++: its contract as the headers see it, and free runs in their loop."""
