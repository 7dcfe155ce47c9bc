"""Where `failwell.guards` was once: importing it says so. `failwell.guard` is a function, and stays one."""

raise ImportError(
    "failwell.guard is a function; the package is failwell.guards, and the names are: failwell.Guard, failwell.guard"
)
