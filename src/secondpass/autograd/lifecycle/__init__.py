# SPDX-License-Identifier: BSD-3-Clause
"""The life of a graph without its values: nodes, saved tensors with their versions, passes, freeing, leaf gradients.

It is used twice: by the arrays of this package, which know everything, and by `check`, which reads code and knows some
of it. Random programs prove it equal to PyTorch, in both uses (`make prove`). Needs no NumPy.

NOTE [ The life of a saved tensor ]
1. A node is made when an operation runs on something that needs a gradient. Its number is one more than the last one.
2. A saved tensor is either an input (the tensor itself) or an output (its memory only: the tensor holds the node, so a
   node that held the tensor would never be freed by counting references).
3. A pass that does not retain frees each node right after walking it. Only a node that saved something minds being
   walked again; the others may be walked any number of times.
4. Asking a freed node for a saved tensor is refused; then, only then, the version is compared with that of its saving.
5. A node that refuses has not been freed by that pass; those walked before it have.

NOTE [ The order of a pass ]
1. A node is ready when every edge of this pass that leads to it has delivered (or been found to carry nothing).
2. Of the ready nodes the one with the highest number goes first; leaves go before all others.
3. With `inputs`, only nodes on a path to one of them are walked: the others stay as they are, not freed.
4. `grad()` stops at its inputs without walking them; `backward(inputs=...)` walks them too.
5. Each node is freed right after it was walked, before its gradients are handed on.

NOTE [ Certain and maybe ]
1. `edges` exist for certain; `maybe` are nodes that an edge may lead to (code that could not be read lies between). A
   node that a pass reaches over `edges` alone is walked for certain, over a `maybe` it may be.
2. A node that a freeing pass walks for certain is freed; one that it may have walked is perhaps freed (`MAYBE`). So with
   versions: `doubt` says that the memory may have been changed. What is perhaps so is never refused, and nothing after it
   in the same pass is: it cannot be told whether the pass came that far.
3. A node that is reached has history. If there is exactly one place where that can come from, it comes from there.
4. An `opaque` node stands for a call that could not be read: it is never the node a pass fails at. Nor is a `vague` one,
   of which it is not known whether it saves anything; `unsure` are those of its saved tensors that it may not have saved.
"""

from .leaves import Leaf
from .nodes import HOOKED, INPUT, LAST, MAYBE, Edge, Node, Refusal, Saved
from .versions import Version
from .walks import Walk, reach

__all__ = ["HOOKED", "INPUT", "LAST", "MAYBE", "Edge", "Leaf", "Node", "Refusal", "Saved", "Version", "Walk", "reach"]
