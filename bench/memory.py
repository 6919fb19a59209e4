"""The client's memory allocator, which must not be what is measured."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_PLENTY = 32 << 20


def keep_freed_memory() -> None:
    """Ask glibc to keep what is freed instead of giving it back to the kernel at once.

    The bodies of large calls are just of the size where it may do either: then each call faults
    its pages in again, for 0.2 ms in one series and not in the next. Only this process is
    changed, never the servers. Another C library has no such switch and is left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter in (_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD):
            mallopt(parameter, _PLENTY)
