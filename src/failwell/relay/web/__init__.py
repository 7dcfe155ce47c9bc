"""The relay where HTTP is on either side: what carries out what the desk says, in one event loop."""
