"""Public threads about conventions as small cases: a declared contract, and an engine in plain numpy that makes the mistake."""
