"""How far an agreement sees: which stages were judged, and how large a difference may be that no tolerance shows."""
