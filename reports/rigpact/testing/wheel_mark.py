"""The wheel holds this file as `rigpact/pytest__init__.py`, so that pytest finds it; nothing imports it.

pytest rewrites the assertions of every distribution that has a plugin. It looks for `NAME/…__init__.py` in the list of
files. A namespace distribution has no such file, and pytest then treats the names one folder down as top-level
packages. So it would rewrite a user's own `contract`, `fixtures` and `reports` in every run. With this file, pytest
finds `rigpact`.
"""
