"""What each tool is, and how it may fail: for CI, and for whoever reads before they call."""
