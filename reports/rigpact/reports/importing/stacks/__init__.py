"""The formats of other stacks: one module a format; robot and robot_terms are what several of them share."""
