"""A keyed call is done once: the answer that was given, and where it is kept."""
