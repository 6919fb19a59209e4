"""A persistent HTTP connection with as little of its own as possible in the way of the clock."""

from __future__ import annotations

import socket
from typing import Self

_LARGEST_ANSWER = 8 << 20


class Connection:
    """One keep-alive connection to a server on loopback."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = f"127.0.0.1:{port}".encode()
        # One buffer for all answers: fresh memory for each would cost more than the call.
        self._buffer = bytearray(_LARGEST_ANSWER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def post(self, path: str, body: bytes) -> bytes:
        request = (
            b"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (path.encode(), self._host, len(body), body)
        )
        self._socket.sendall(request)
        head, end = self._receive()
        answer = bytes(self._buffer[len(head) : end])
        if not head.startswith(b"HTTP/1.1 200 "):
            raise ConnectionError(f"{path}: {head.splitlines()[0].decode()}: {answer[:200]!r}")
        return answer

    def _receive(self) -> tuple[bytes, int]:
        """Read one answer; return its head, and where its body ends in the buffer."""
        received = self._read(0)
        while (end := self._buffer.find(b"\r\n\r\n", 0, received)) < 0:
            received += self._read(received)
        head = bytes(self._buffer[: end + 4])
        whole = len(head) + _content_length(head)
        while received < whole:
            received += self._read(received)
        return head, whole

    def _read(self, position: int) -> int:
        with memoryview(self._buffer) as view:
            count = self._socket.recv_into(view[position:])
        if not count:
            raise ConnectionError("the server closed the connection")
        return count


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ConnectionError("an answer without Content-Length")
