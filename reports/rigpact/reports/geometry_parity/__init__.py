"""Compare the training side's own rotation functions with the definitions, and find what each one computes.

calling/        calls them in their own library, in the shapes and with the arguments that they want
proposing.py    tries shapes and arguments, and keeps the call whose results make sense
oracle.py       the definitions in float64; samples.py: inputs for the functions, from a seed
readings/       other results that a rotation function may give, each with its finding
meaning.py      what a function computes, and what of it is certain
checks/         types, axes, NaN, determinism, unchanged arguments; inputs where formulas divide by zero
examination.py  loads the user's module, finds its functions by role (roles.py), adds what the project declares;
                all questions, as a findings report and as text

The findings are the rules RP850-RP886. To add a role: a row in `ROLES`, its samples, its readings. To add a convention
that a function may follow: a reading. To add a shape or an argument form: a row in calling/.
"""
