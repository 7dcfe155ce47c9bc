"""For everyone's tests: the conformance vectors, the command that runs them, and the adapter for Failwell itself."""
