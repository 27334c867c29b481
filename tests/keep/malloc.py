# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that malloc has given out, by its own count."""

import ctypes


class _Info(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def allocated() -> int:
    call = ctypes.CDLL(None).mallinfo2
    call.restype = _Info
    info = call()
    return info.uordblks + info.hblkhd
