"""Describe a contract in words and tables, and the changes between two contracts."""
