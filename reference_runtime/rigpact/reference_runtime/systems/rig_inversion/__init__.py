"""The toy rig and the network that inverts it, as stages: mesh in, parameters, transform, the rig's own mesh out."""
