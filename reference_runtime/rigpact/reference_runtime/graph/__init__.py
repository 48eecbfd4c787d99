"""Evaluates a graph of stages: a clip in one batch, a free run frame by frame, a recording stage by stage."""
