"""Answers as a comment on a change: one screen, the answer first."""
