"""Which of two predictions is nearer to the clip: by how much, in which part of the body, from which frame on."""
