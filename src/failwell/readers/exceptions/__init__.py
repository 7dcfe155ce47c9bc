"""Exceptions to errors: one table by full names, the chain of causes, and who raised what."""
