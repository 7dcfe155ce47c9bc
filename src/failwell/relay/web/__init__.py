"""The relay where HTTP is on either side: what carries out what the protocol says, in one event loop."""
