"""Runtimes of the contracts that ship, written again in plain numpy, float32, frame by frame; they import nothing of rigpact.

`mistakes` names what such a runtime does wrong, as knob and value of the contract; `score.MISTAKES` lists what it can.
"""
