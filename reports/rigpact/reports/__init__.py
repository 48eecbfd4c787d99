"""What can be said about two runs, and the ways to say it: comparisons, renderers, the command line.

Reads findings, traces and contracts; nothing imports this room.
"""
