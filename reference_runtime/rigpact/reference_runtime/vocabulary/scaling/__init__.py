"""One number at a time: affine, normalise, clip, squash, wrap, blend."""
