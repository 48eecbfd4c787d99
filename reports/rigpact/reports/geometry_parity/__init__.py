"""Compare the training side's own rotation functions with the definitions, and find what each one computes.

loading.py      loads the user's module and finds its functions by role (roles.py); calling.py calls them
oracle.py       the definitions in float64; samples.py: inputs for the functions, from a seed
readings.py     other results that a rotation function may give, each with its finding; meaning.py: finds the one
velocity.py     the same for angular velocities, which can differ in frame, rate, scale and rows at once
behaviour.py    types, axes, NaN, determinism, unchanged arguments; degenerate.py: inputs where formulas divide by zero
examination.py  all checks, as a findings report and as text

The findings are the rules RP850-RP882. To add a role: a row in `ROLES`, its samples, its readings. To add a convention
that a function may follow: a reading.
"""
