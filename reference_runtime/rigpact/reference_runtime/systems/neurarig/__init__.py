"""NeuraRig's wire: datagrams, and a server that answers them with a model. Its loop is a page: `rigpact show neurarig`."""
