"""In the wheel this file stands as `rigpact/pytest__init__.py`, for pytest to find; nothing imports it.

pytest rewrites the assertions of every distribution that has a plugin. It looks for `NAME/…__init__.py` in the list of
files; a distribution that is a namespace has none, and pytest then takes the names one folder down for top-level packages:
a user's own `contract`, `fixtures` and `reports` would be rewritten in every run. This file makes it find `rigpact`.
"""
