"""NeuraRig's loop (engine pose, packet, network, rotations, reply, legs) and its datagrams."""
