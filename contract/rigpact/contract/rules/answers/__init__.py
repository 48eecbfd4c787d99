"""Rules that commands report: comparison of two recordings, waivers, the gate, a training side's geometry."""
