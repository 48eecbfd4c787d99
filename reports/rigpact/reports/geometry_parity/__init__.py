"""Compare the training side's own rotation functions with the definitions, and find what each one computes.

calling.py      calls them in their own library, in the shapes and with the arguments that they want; torch_backend.py: in torch
roles.py        the roles, inputs for them, ordinary ones from a seed and singular ones, and tolerances
forms.py        in which a rotation is held; readings.py: what a rotation function may compute, each reading with its finding
meaning.py      tries shapes and arguments; what a function computes, and what of it is certain
checks.py       types, axes, NaN, determinism, unchanged arguments; inputs where formulas divide by zero
examination.py  loads the user's module, finds its functions by role, adds what the project declares;
                all questions, as a findings report and as text

The findings are the rules RP850-RP886. To add a role: a row in `ROLES`, its samples, its operation. To add a convention
that a function may follow: a form in forms.py, or an operation in readings.py. To add a shape or an argument form: a row in
calling.py.
"""
