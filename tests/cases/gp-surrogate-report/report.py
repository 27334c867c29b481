import torch


def find(fn, name):
    """Breadth-first search for graph nodes of a kind."""
    queue, seen = [fn], set()
    while queue:
        node = queue.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name().startswith(name):
            yield node
        queue.extend(nxt for nxt, _ in node.next_functions)


def conditioning(value):
    """Condition numbers of the factors a marginal likelihood went through."""
    out = []
    for node in find(value.grad_fn, "LinalgCholesky"):
        diag = node._saved_L.diagonal()
        out.append((diag.max() / diag.min()).square().item())
    return out
