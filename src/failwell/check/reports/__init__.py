"""The ways of showing a report; each takes the report as data, and knows nothing of how it came about."""
