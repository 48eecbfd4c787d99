"""An engine's own loop in C++, 36 mistakes that real engine classes had, and what `rigpact explain` says of their recordings."""
