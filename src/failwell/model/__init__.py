"""One model of a failure. Standard library only; everything else in Failwell is built on it."""
