"""NeuraRig's loop: the engine's pose into a packet, the network, its rotations into a reply, the legs; and the datagrams."""
