"""How a declared graph of stages is evaluated: a clip in one batch, a free run frame by frame, a recording stage by stage."""
