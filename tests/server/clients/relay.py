"""A command for clients that start their servers themselves: it passes everything on to a child of the nursery.

python relay.py DOOR ARGUMENTS...

The child has imported everything already, so that the client does not wait.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading


def main(door: str, *arguments: str) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.connect(door)
    server.sendall(json.dumps({"arguments": arguments, "errors": os.devnull}).encode() + b"\n")
    # Its process id is for those who want to end it; this one ends with its input.
    while server.recv(1) not in (b"\n", b""):
        pass
    threading.Thread(target=send, args=(server,), daemon=True).start()
    while received := server.recv(1 << 16):
        view = memoryview(received)
        while view:
            view = view[os.write(1, view) :]


def send(server: socket.socket) -> None:
    while read := os.read(0, 1 << 16):
        server.sendall(read)
    server.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(*sys.argv[1:])
