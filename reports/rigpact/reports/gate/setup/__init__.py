"""What `rigpact init` finds and writes."""
