"""A character's motion network: what it is given (state, intent, rates, past poses), and from its answer to a published pose."""
