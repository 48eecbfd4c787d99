"""What only the enemy animation can be asked about a run: floors, faults, feet, an ideal network."""
