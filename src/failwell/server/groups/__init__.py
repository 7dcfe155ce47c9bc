"""Grouped tools: one tool with several actions, and how each framework lists it."""
