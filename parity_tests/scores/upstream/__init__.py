"""The public code of the hosted systems, transcribed without rigpact, and what `rigpact explain` says of its mistakes."""
