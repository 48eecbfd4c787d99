"""Investigations that only the enemy animation supports: floors, faults, feet, an ideal network."""
