"""The vocabulary of declared contracts: a kind of operations a module, found through the entry points `rigpact.operations`.

fields, vectors: which number stands where. linear, scaling: one number at a time. convert, quaternions: rotations. timing: from
one frame to the next. rigs: joints along their parents. formula: arithmetic that a page writes down.
network: a model's answer. operations.toml: the words of all, and what each reading is in code. What one system's page needs
alone, with numbers that a reader brings (`contract.numbers`), stands with the system.

To add an operation: a function that reads its parameters and inputs from a `Use` and returns a `Built`, `operation` of it, its
table in operations.toml; then its line under `rigpact.operations` in pyproject.toml. A package of your own brings an `Operation`
in its own pyproject.toml; a module comes with `--operations FILE.py`. Every place where sides differ is a `use.choice` or has
`misread` readings, or one of the `shared` knobs; diagnosis, adequacy and mutants follow from them. `planned` says the same for
C++: a step of cpp/include/rigpact/plan.hpp, whose function stands in one of cpp/include/rigpact/vocabulary; without it numpy
computes every run that the operation is part of. Formulas that a system has too stand in operations/.
"""
