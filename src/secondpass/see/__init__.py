# SPDX-License-Identifier: BSD-3-Clause
"""What is alive, who holds it, what it costs: the ledger of saved tensors, and the data of the page.

    loss = criterion(model(x), y)
    print(secondpass.ledger(loss))                # every saved tensor behind it
    secondpass.ledger(loss).by("module")

Importing this package loads nothing; torch is loaded by the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ledger_rows import Ledger

__all__ = ["ledger"]


def ledger(loss: Any = None) -> Ledger:
    """Lists the saved tensors behind a loss (a tensor, or several), or behind every live tensor with history.

    It allocates nothing on the device, keeps nothing alive and runs no hook of anybody's. Lines are known under
    `secondpass run` and `secondpass see`, iterations while somebody watches.

    >>> import torch, secondpass
    >>> loss = torch.nn.Linear(8, 8)(torch.ones(4, 8)).exp().sum()
    >>> secondpass.ledger(loss)
    <Ledger: 256 B in 2 saved tensors behind 5 nodes>
    """
    import sys

    from .read_graph import take

    return take(loss, sys._getframe(1))
