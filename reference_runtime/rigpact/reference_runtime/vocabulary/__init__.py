"""The vocabulary of declared contracts: one operation a module, found through the entry points `rigpact.operations`.

arranging/: which number stands where. scaling/: one number at a time. turning/: rotations. timing/: from one frame to the next.
rigs/: joints along their parents. formula: arithmetic that a page writes down.
network: a model's answer. character/: what a motion network is given of a character, and from its answer to a pose; only a
page names these, and a reader brings their numbers (`contract.numbers`).

To add an operation: a module with `OPERATION`, whose `build` reads its parameters and inputs from a `Use` and returns a
`Built`; then its line under `rigpact.operations` in pyproject.toml. A package of your own does the same in its own
pyproject.toml; a module comes with `--operations FILE.py`. Every place where sides differ is a `use.choice` or has `misread`
readings, or one of the `shared` knobs; diagnosis, adequacy and mutants follow from them. `planned` says the same for C++: a step
of cpp/include/rigpact/plan.hpp, whose function stands in one of cpp/include/rigpact/vocabulary; without it numpy computes every
run that the operation is part of. Formulas that a system has too stand in operations/.
"""
