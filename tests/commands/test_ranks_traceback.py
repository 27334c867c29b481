# SPDX-License-Identifier: BSD-3-Clause
"""A traceback that another process has left as text is folded as one of our own."""

from __future__ import annotations

import secondpass
from secondpass.commands._uncaught import folded, is_folded

OURS = secondpass.__file__.replace("__init__.py", "watcher/patched_calls.py")
TEXT = f"""

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 87, in _wrap
    fn(i, *args)
  File "{OURS}", line 57, in watched
    return fn(*given)
           ^^^^^^^^^^
  File "/home/me/train.py", line 12, in worker
    loss.backward()
  File "/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
    torch.autograd.backward(
RuntimeError: Expected to mark a variable ready only once
Parameter at index 0

SP503 ready-twice: `loss.backward()`
    --> train.py:12 in worker
"""
SHOWN = """

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  ... 2 frames inside torch (--full-traceback shows them)
  File "/home/me/train.py", line 12, in worker
    loss.backward()
  File "/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
    torch.autograd.backward(
RuntimeError: Expected to mark a variable ready only once
Parameter at index 0

SP503 ready-twice: `loss.backward()`
    --> train.py:12 in worker
"""


def test_frames_of_libraries_are_one_line() -> None:
    assert folded(TEXT) == SHOWN
    assert folded(SHOWN) == SHOWN
    assert is_folded(RuntimeError(SHOWN)) and not is_folded(RuntimeError(TEXT))


def test_what_is_no_traceback_stays() -> None:
    text = 'no frames\n  File "a.py" is missing\n\n    indented\n'
    assert folded(text) == text
    assert folded("") == ""
