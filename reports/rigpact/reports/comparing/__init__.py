"""Compare two recordings: measure, judge, and name the places of differences."""
