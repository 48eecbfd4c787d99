"""Which number stands where: select by name, concatenate, keep a history."""
