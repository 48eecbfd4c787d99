"""The gate: one command checks everything that a change can break, and gives one verdict.

answer/report.py holds the answer as data. The renderers (../renderers, ../viewer) read only the answer.
"""
