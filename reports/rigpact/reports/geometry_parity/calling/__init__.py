"""Call a user's function: its array library, the shapes it wants, the arguments it takes.

function.py calls it; layouts.py holds the shapes, arguments.py the ways to split a value into arguments; proposing.py tries
them. backend.py and torch_backend.py are the array libraries.
"""
