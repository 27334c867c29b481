# SPDX-License-Identifier: BSD-3-Clause
"""What `retain_graph=True` would do, by cause: PyTorch's own message proposes it, so everybody asks."""

__all__ = ["INSTEAD"]

INSTEAD = {
    "repeated-backward": "`retain_graph=True` would add the same gradients a second time.",
    "shared-forward": "`retain_graph=True` would walk the shared part once per loss and keep its buffers meanwhile.",
    "carried-state": "`retain_graph=True` would walk all earlier iterations again in every backward, until a step that "
    "has changed the weights makes it fail.",
    "hoisted-forward": "`retain_graph=True` would go on with the value from before the first step.",
    "accumulated-loss": "`retain_graph=True` would count the gradients of the earlier losses again.",
    "crossed-networks": "`retain_graph=True` would keep the graph for a gradient that must not be used.",
    "stored-history": "`retain_graph=True` would keep every stored graph alive, with weights that are gone.",
    "freed-access": "`retain_graph=True` would keep the buffers of the whole graph.",
    "missing-create-graph": "`retain_graph=True` keeps the graph, but the gradient itself still has no history.",
    "step-between": "`retain_graph=True` does not help: the buffers are there, but changed.",
    "inplace-change": "`retain_graph=True` does not help: the buffer is there, but changed.",
}
