"""What a client starts over stdio: it hands its streams to a fork of the fork server, and lives as long as that does.

It is run as a file, without the package around it, since most of the time it takes is the start of Python.
"""

import os
import socket
import sys


def main() -> None:
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(sys.argv[1])
    except OSError:
        sys.exit("The scripted server has been stopped.")
    socket.send_fds(server, [b"."], [0, 1, 2])
    # Only the fork holds them now, so that the client sees them end when it ends.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        code = server.recv(1)
    except OSError:
        code = b""
    os._exit(code[0] if code else 1)


if __name__ == "__main__":
    main()
