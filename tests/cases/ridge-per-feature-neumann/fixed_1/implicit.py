import torch


def dot(us, vs):
    return sum((u * v).sum() for u, v in zip(us, vs))


def neumann(grads, weights, v, terms, alpha):
    """Approximates  H^{-1} v  by  alpha * sum_k (I - alpha H)^k v."""
    p = [u.clone() for u in v]
    for _ in range(terms):
        hv = torch.autograd.grad(grads, weights, grad_outputs=v, retain_graph=True)
        v = [u - alpha * h for u, h in zip(v, hv)]
        p = [a + b for a, b in zip(p, v)]
    return [alpha * a for a in p]


def hypergradient(inner_loss, outer_loss, weights, hypers, terms=12, alpha=0.1):
    v = torch.autograd.grad(outer_loss, weights)
    grads = torch.autograd.grad(inner_loss, weights, create_graph=True)
    q = neumann(grads, weights, v, terms, alpha)
    indirect = torch.autograd.grad(grads, hypers, grad_outputs=q)
    return [-g for g in indirect]
