"""A training side's own rotation functions against the definitions: what each of them really computes.

loading.py      somebody else's module, loaded; its functions found by role (roles.py) and called (calling.py)
oracle.py       the definitions in float64; samples.py: what the functions are asked, from a seed
readings.py     what a rotation function may compute instead, each with its finding; meaning.py: which of them it is
velocity.py     the same for angular velocities, which differ in frame, rate, scale and rows at once
behaviour.py    types, axes, NaN, determinism, arguments left alone; degenerate.py: where formulas divide by nothing
examination.py  all of it, as a findings report, and for people

The texts of the findings are RP850-RP882, contract/rules/geometry.py. To add a role: a row in `ROLES`, its samples, its
readings. To add a convention that a function may follow: a reading.
"""
