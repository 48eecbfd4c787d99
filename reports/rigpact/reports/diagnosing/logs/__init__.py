"""Logs that an engine printed, pasted as they are: the lines that are numbers, and what they are evidence of."""
