"""Zstandard, a block at a time: at most 128 kB come out at once, however well the data was compressed."""

from __future__ import annotations

#: What the library takes as a bound of the window.
_LEAST_WINDOW, _MOST_WINDOW = 1 << 10, 1 << 31
_DICTIONARY_ID = (0, 1, 2, 4)
_CONTENT_SIZE = (0, 2, 4, 8)
_RUN = 1


class Zstd:
    """One frame, in the shape of the standard library's decompressors.

    The package's ``decompressobj`` cannot limit what comes out, and 1 kB in may be 10 MB out; its stream
    reader can, but takes a file that was cut short for a whole one. So blocks are put in one by one: a frame
    is a header and blocks that each say how long they are (RFC 8878, section 3.1.1).
    """

    def __init__(self, window_limit: int) -> None:
        import zstandard

        window = max(_LEAST_WINDOW, min(window_limit, _MOST_WINDOW))
        self._object = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
        self._waiting = b""
        self._within = 0  # bytes to put in before the next header stands there
        self._started = False
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data + self._waiting

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Some more, a block over ``max_length`` at most."""
        waiting = memoryview(self._waiting + data)
        out: list[bytes] = []
        size = at = 0
        self.needs_input = False
        while size < max_length and not self._object.eof:
            self._within = self._within or self._next_length(waiting[at : at + 5])
            taken = min(self._within, len(waiting) - at)
            if taken == 0:
                self.needs_input = True
                break
            out.append(self._object.decompress(waiting[at : at + taken]))
            size += len(out[-1])
            at += taken
            self._within -= taken
        self._waiting = bytes(waiting[at:])
        return b"".join(out)

    def _next_length(self, head: memoryview) -> int:
        """The length of the frame's header or of the next block with its header; 0 where too little is at hand."""
        if not self._started:
            if len(head) < 5:
                return 0
            self._started = True
            descriptor = head[4]
            single = descriptor >> 5 & 1  # one segment: no window byte, but always a size
            return 6 - single + _DICTIONARY_ID[descriptor & 3] + (_CONTENT_SIZE[descriptor >> 6] or single)
        if len(head) < 3:
            return 0
        block = int.from_bytes(head[:3], "little")
        content = 1 if block >> 1 & 3 == _RUN else block >> 3
        checksum = 4 * (block & 1)  # behind the last block; what is too much comes back as unused
        return 3 + content + checksum
