"""What changed between two contracts of one's own: stages by their names, numbers by the names of their fields."""
