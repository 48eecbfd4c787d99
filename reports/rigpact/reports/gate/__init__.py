"""The gate: everything that a change can break, asked in one command and answered with one verdict.

report.py holds the answer as data; the parts, the archive and the command are beside it. Renderers (../renderers, ../viewer)
read the answer and nothing else.
"""
