"""NeuraRig's wire: datagrams, both ends of it, a capture of it. Its loop is a page: `rigpact describe neurarig`."""
