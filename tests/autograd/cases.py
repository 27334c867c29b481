# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501  tables of expressions
"""One or more expressions for every row of the op table: what is computed, and the shapes of x, y and z.

`mask`, `index`, `column` and `target` are tensors without history.
"""

A, B, V = (2, 3), (3, 4), (3,)

CASES: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    *((f"torch.{n}(x)", (A,)) for n in (
        "tanh sigmoid relu exp log sqrt rsqrt abs neg sin cos reciprocal log1p expm1 square sign floor ceil round"
    ).split()),
    ("F.gelu(x)", (A,)), ("F.silu(x)", (A,)), ("F.leaky_relu(x - 0.7)", (A,)), ("F.softplus(x)", (A,)),
    ("x.softmax(-1)", (A,)), ("x.log_softmax(0)", (A,)), ("x + 0", (A,)),
    ("x + y", (A, A)), ("x + y", (A, V)), ("torch.add(x, y, alpha=2)", (A, A)), ("x - y", (A, A)),
    ("torch.sub(x, y, alpha=3)", (A, A)), ("1 - x", (A,)), ("x * y", (A, A)), ("x * y", ((2, 1), (1, 3))), ("x * 2", (A,)),
    ("x / y", (A, A)), ("x / 2", (A,)), ("2 / x", (A,)), ("3 + x", (A,)), ("x - 1", (A,)),
    *((f"x ** {p}", (A,)) for p in ("0", "1", "2", "3", "0.5", "-1")), ("x ** y", (A, A)), ("2 ** x", (A,)),
    ("torch.maximum(x, y)", (A, A)), ("torch.minimum(x, y)", (A, A)), ("x.clamp(0.5, 0.9)", (A,)),
    ("x.clamp(min=0.5)", (A,)), ("x.clamp(max=0.5)", (A,)), ("x.clamp_min(0.5)", (A,)), ("x.clamp_max(0.5)", (A,)),
    ("torch.lerp(x, y, 0.1)", (A, A)), ("x % 0.7", (A,)),
    # reductions
    *((f"x.{n}()", (A,)) for n in "sum mean prod max min std var norm".split()),
    *((f"x.{n}(1)", (A,)) for n in "sum mean prod std var amax amin cumsum".split()),
    *((f"x.{n}(0, keepdim=True)", (A,)) for n in "sum mean prod amax".split()),
    ("x.max(1)[0]", (A,)), ("x.min(0)[0]", (A,)), ("x.max(1, keepdim=True)[0]", (A,)), ("x.norm(dim=1)", (A,)),
    ("x.norm(p=1)", (A,)), ("x.sum((0, 1))", (A,)), ("x.mean((0, 2))", ((2, 3, 2),)), ("x.var(0, keepdim=True)", (A,)),
    ("x.std(1, unbiased=False)", (A,)), ("x.sum()", ((),)),
    ("x.mean(0)", ((),)), ("x.max(0)[0]", ((),)),
    # products
    ("x @ y", (A, B)), ("x @ y", (A, V)), ("x @ y", (V, V)), ("x @ y", (V, B)), ("x @ y", ((2, 2, 3), (2, 3, 4))),
    ("x @ y", ((2, 2, 3), B)), ("x @ y", (A, (2, 3, 4))), ("x @ y", ((2, 2, 2, 3), (2, 1, 3, 2))), ("x @ y", ((2, 2, 3), V)),
    ("x @ y", (V, (2, 3, 4))), ("torch.bmm(x, y)", ((2, 2, 3), (2, 3, 4))), ("F.linear(x, y, z)", (A, (4, 3), (4,))),
    ("F.linear(x, y, z)", ((2, 2, 3), (4, 3), (4,))), ("F.linear(x, y)", (A, (4, 3))),
    ("F.linear(x, y)", ((2, 2, 3), (4, 3))), ("F.linear(x, y, z)", (V, (4, 3), (4,))),
    ("torch.addmm(x, y, z)", ((4,), A, B)),
    ("torch.outer(x, y)", ((2,), V)), ("x.t() @ y", ((3, 2), B)), ("x @ y.t()", (A, (4, 3))),
    # views and copies
    ("x.view(6)", (A,)), ("x.view(3, -1)", (A,)), ("x.t()", (A,)), ("x.T", (A,)), ("x.mT", (A,)), ("x.transpose(0, 1)", (A,)),
    ("x.permute(2, 0, 1)", ((2, 3, 4),)), ("x.expand(2, 2, 3)", (A,)), ("x.expand(4, 3)", ((1, 3),)),
    ("x.squeeze()", ((2, 1),)), ("x.squeeze(1)", ((2, 1),)), ("x.squeeze(0)", (A,)), ("x.unsqueeze(0)", (A,)), ("x[0]", (A,)),
    ("x[:, 1:]", (A,)), ("x[:]", (A,)), ("x[...]", (A,)), ("x[None]", (A,)), ("x[0, 1]", (A,)), ("x[:, -1]", (A,)),
    ("x[::2]", (A,)), ("x[..., 0]", (A,)), ("x.split(1)[0]", (A,)), ("x.split([1, 2], 1)[1]", (A,)), ("x.chunk(2)[0]", (A,)),
    ("x.unbind()[1]", (A,)), ("list(x)[0]", (A,)), ("x.flatten()", (A,)),
    ("x.as_strided((2, 2), (3, 1))", (A,)), ("x.as_strided((4, 1, 2), (0, 7, 3))", (A,)), ("x.clone()", (A,)), ("x.t().contiguous()", (A,)),
    ("x.t().reshape(6)", (A,)), ("x[::2].reshape(-1)", ((4,),)), ("x.to(torch.float32)", (A,)), ("torch.cat([x, y])", (A, A)), ("torch.cat([x, y], 1)", (A, A)),
    ("torch.stack([x, y], 1)", (A, A)), ("x.flip(0)", (A,)),
    ("x.roll(1, 0)", (A,)), ("x.tril()", (A,)), ("x.triu(1)", (A,)), ("x.select(1, 2)", (A,)), ("x.expand_as(y) * y", (V, A)),
    # choosing
    ("x.masked_fill(mask, 0.5)", (A,)), ("x.masked_fill(mask, y)", (A, ())), ("torch.where(mask, x, y)", (A, A)),
    ("torch.where(mask, x, 0.0)", (A,)), ("x.gather(1, column)", (A,)), ("x[index]", (A,)), ("x[index, index]", (A,)),
    ("x[mask]", (A,)), ("x[:, index]", (A,)), ("x.masked_select(mask)", (A,)),
    ("F.embedding(index, x)", (A,)),
    # losses
    ("F.mse_loss(x, y)", (A, A)), ("F.mse_loss(x, target)", (A,)), ("F.mse_loss(x, target, reduction='sum')", (A,)),
    ("F.mse_loss(x, y, reduction='none')", (A, A)), ("F.cross_entropy(x, index)", (A,)), ("F.nll_loss(x, index)", (A,)),
    ("F.cross_entropy(x, index, reduction='sum')", (A,)), ("F.cross_entropy(x, index, reduction='none')", (A,)),
    ("F.binary_cross_entropy_with_logits(x, target)", (A,)), ("F.binary_cross_entropy(x / 3, target)", (A,)),
    ("F.binary_cross_entropy_with_logits(x, y)", (A, A)), ("F.l1_loss(x, y)", (A, A)), ("F.smooth_l1_loss(x, y * 3)", (A, A)),
    ("F.layer_norm(x, (3,), y, z)", (A, V, V)), ("F.layer_norm(x, (3,))", (A,)), ("F.layer_norm(x, (2, 3), y)", (A, A)),
    ("F.normalize(x)", (A,)), ("F.dropout(x, 0.5, False)", (A,)),
    # in place
    *((f"x.clone().{n}_(y)", (A, A)) for n in "mul div add sub copy".split()),
    *((f"x.clone().{n}_()", (A,)) for n in "tanh sigmoid relu exp log sqrt abs neg zero reciprocal".split()),
    ("x.clone().fill_(1.0)", (A,)), ("x.clone().pow_(2)", (A,)), ("x.clone().clamp_(0.5, 0.9)", (A,)),
    ("x.clone().masked_fill_(mask, 0.0)", (A,)), ("x.clone().mul_(y)", (A, V)), ("x.clone().add_(y, alpha=2)", (A, A)),
    ("changed(x.clone(), lambda c: c[0].mul_(y))", (A, V)), ("changed(x.clone(), lambda c: c[0].tanh_())", (A,)),
    ("x.clone()[0].tanh_()", (A,)), ("changed(x.clone(), lambda c: c.__setitem__(0, y))", (A, V)),
    ("changed(x.clone(), lambda c: c.__setitem__((slice(None), slice(1, None)), y))", (A, (2, 2))),
    ("changed(x.clone(), lambda c: c.__setitem__(index, y))", (A, A)), ("changed(x.clone(), lambda c: c.__setitem__(mask, 0.0))", (A,)),
    ("changed(x.clone(), lambda c: c.__setitem__(0, 0.0))", (A,)), ("changed(x.clone(), lambda c: c.__setitem__(slice(None), y))", (A, A)),
    ("changed(x.clone(), lambda c: c.__setitem__(0, y))", (A, ())), ("changed(x.clone(), lambda c: c.t().mul_(y))", (A, (3, 2))),
    ("changed(target.clone(), lambda c: c[1].copy_(x))", (V,)), ("changed(x.clone(), lambda c: c.view(-1)[1:4].exp_())", (A,)),
]  # fmt: skip
