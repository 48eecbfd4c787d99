"""The formats of other stacks: one module a format; robot is what several of them share."""
