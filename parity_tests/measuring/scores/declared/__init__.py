"""Runtimes of declared contracts, written again in plain numpy, with the mistakes that people make; and their score.

A runtime here shares no code with rigpact: it is written from what the contract's page says, frame by frame, in float32.
"""
