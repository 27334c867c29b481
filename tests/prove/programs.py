# SPDX-License-Identifier: BSD-3-Clause

"""Random programs: operations, views, in-place changes, cuts, passes, steps.

A program is a list of pairs of numbers: the kind of statement, and the seed of its details. A statement is written when
it is about to run, since it depends on what the names hold by then.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

Choice = tuple[int, int]

START = """
a = leaf(2, 3)
b = leaf(3, 3)
w = leaf(3)
p = leaf(3, 3)
q = leaf(3)
data = plain(2, 3)
opt = torch.optim.SGD([p, q, w], lr=0.1)
adam = torch.optim.AdamW([p, q], lr=0.01)
cell = lstm()
h = plain(2, 3)
"""
"""What every program begins with."""

UNARY = (
    "{x}.tanh() {x}.sigmoid() {x}.relu() {x}.exp() {x}.abs() {x}.neg() {x}.sin() {x}.cos() {x}.square() {x}.softmax(-1) "
    "{x}.log_softmax(-1) ({x}*{x}+1).log() ({x}*{x}+1).sqrt() F.gelu({x}) F.silu({x}) F.softplus({x}) {x}*2 {x}+1 1-{x} "
    "{x}/3 2/({x}*{x}+1) {x}**2 {x}**3 {x}.clamp(-0.5,0.5) {x}.clamp(min=0) F.leaky_relu({x}) {x}.masked_fill({x}>0,0.5) "
    "torch.where({x}>0,{x},{x}*0.1) {x}.cumsum(0) {x}.flip(0) {x}.tril() {x}.expm1() ({x}*{x}+1).rsqrt() {x}.sgn() "
    "F.layer_norm({x},{x}.shape[-1:]) {x}.to(torch.float32).to(torch.float64) {x}.roll(1,0)"
).split()
BINARY = (
    "{x}+{y} {x}-{y} {x}*{y} {x}/({y}*{y}+1) torch.maximum({x},{y}) torch.minimum({x},{y}) {x}@{y} {x}@{y}.t() "
    "torch.lerp({x},{y},0.3) F.mse_loss({x},{y}) torch.where({x}>{y},{x},{y}) {x}.matmul({y}) F.linear({x},{y}) "
    "F.linear({x},{y},q) torch.add({x},{y},alpha=2) torch.addmm(q,{x},{y}) F.smooth_l1_loss({x},{y}) F.l1_loss({x},{y}) "
    "torch.cat([{x},{y}]) torch.stack([{x},{y}]) torch.cat([{x},{x},{y}],-1) torch.outer({x},{y}) {x}**({y}*0.1)"
).split()
VIEW = (
    "{x}.t() {x}.view(-1) {x}.reshape(-1) {x}[0] {x}[:,1:] {x}[:1] {x}.transpose(0,1) {x}.unsqueeze(0) {x}.squeeze() "
    "{x}.expand(2,*{x}.shape) {x}.permute(*range({x}.dim())[::-1]) {x}.split(1)[0] {x}.chunk(2)[-1] {x}.unbind()[0] "
    "{x}[...] {x}[None] {x}.flatten() {x}.view_as({x}) {x}.T {x}[-1] {x}.select(-1,0) {x}[:] {x}[::2] "
    "{x}.squeeze(0) {x}.detach() {x}.contiguous()"
).split()
COPY = (
    "{x}.clone() {x}.t().contiguous() {x}.t().reshape(-1) {x}[torch.tensor([0,1])] {x}[{x}>0] "
    "{x}.gather(-1,torch.zeros({x}.shape,dtype=torch.long)) {x}.masked_select({x}>0)"
).split()
REDUCE = (
    "{x}.sum() {x}.mean() {x}.sum(0) {x}.mean(-1,keepdim=True) {x}.max() {x}.amax(0) {x}.norm() {x}.var() {x}.std(0) "
    "{x}.max(-1)[0] {x}.min(0)[0] {x}.prod() {x}.sum((0,-1)) {x}.norm(dim=-1) {x}.amin(-1,keepdim=True) "
    "F.cross_entropy({x},torch.zeros({x}.shape[0],dtype=torch.long))"
).split()
INPLACE = (
    "{x}.add_({y}) {x}.mul_({y}) {x}.sub_({y}) {x}.tanh_() {x}.relu_() {x}.sigmoid_() {x}.mul_(2) {x}.add_(1) {x}.zero_() "
    "{x}.neg_() {x}.copy_({y}) {x}[0]={y} {x}[0]=1.0 {x}[:,1:]=0.5 {x}[0].mul_(3) {x}.t().add_({y}) {x}.view(-1)[0:2].tanh_() "
    "{x}[{x}>0]=0.25 {x}[torch.tensor([0])]={y} {x}+={y} {x}*=0.5 {x}.fill_(0.5) {x}.clamp_(-1,1) {x}.div_({y}) {x}.pow_(2) "
    "{x}.exp_() {x}.sin_() {x}[:]={y} {x}.masked_fill_({x}>0,0.1) {x}.abs_() {x}.data.add_(1) {x}.detach().mul_(2)"
).split()
FLAG = (
    "{x}.requires_grad_() {x}.detach_() {x}.retain_grad() {x}.requires_grad_(False) {x}.requires_grad=True "
    "{x}.register_hook(double) {x}.grad=None {l}.grad.zero_() {l}.grad.mul_(2) {l}.register_post_accumulate_grad_hook(noted)"
).split()
KEEP = ("", "", "retain_graph=True", "retain_graph=True", "create_graph=True", "retain_graph=False,create_graph=True")
LEAVES = "a b w p q".split()


class Writer:
    """Writes the next statement from a choice and from what the names hold."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, choice: Choice, scope: dict[str, Any], tensor: type) -> str:
        """One statement."""
        kind, draw = choice[0], random.Random(choice[1])
        floats = [n for n, v in scope.items() if isinstance(v, tensor) and v.is_floating_point()]
        recent = floats[-4:] + LEAVES
        x, y = draw.choice(recent), draw.choice(draw.choice((recent, floats)))
        names = {"x": x, "y": y, "l": draw.choice(LEAVES)}
        if kind < 62:
            return self.computed(kind, draw, names)
        if kind < 72:
            shown = draw.choice(INPLACE).format(**names)
            return f"with torch.no_grad(): {shown}" if draw.random() < 0.15 else shown
        if kind < 76:
            return draw.choice(FLAG).format(**names)
        if kind < 92:
            return self.passed(draw, names, floats)
        if kind < 97:
            return draw.choice(("opt.step()", "opt.zero_grad()", "adam.step()", "opt.zero_grad(set_to_none=False)"))
        return draw.choice(("h = cell(h, (h, h))[0]", "h = h.detach()", f"h = cell({x}, (h, h))[1]"))

    def computed(self, kind: int, draw: random.Random, names: dict[str, str]) -> str:
        """A new name for the result of an operation."""
        among = UNARY if kind < 18 else BINARY if kind < 36 else VIEW if kind < 48 else COPY if kind < 52 else REDUCE
        text = draw.choice(among).format(**names)
        self.count += 1
        new = f"v{self.count}"
        luck = draw.random()
        if luck < 0.04:
            return f"with torch.no_grad(): {new} = {text}"
        if luck < 0.07:
            return f"{new} = Cube.apply({names['x']})"
        if luck < 0.10:
            return f"{new} = checkpoint(block, {names['x']}, use_reentrant={draw.random() < 0.5})"
        if luck < 0.13:
            return f"{new} = Pair.apply({names['x']}, {names['y']})[{draw.randrange(2)}]"
        return f"{names['x'] if luck > 0.92 and names['x'] not in LEAVES else new} = {text}"

    def passed(self, draw: random.Random, names: dict[str, str], floats: list[str]) -> str:
        """A pass."""
        x, y, keep = names["x"], names["y"], draw.choice(KEEP)
        more = f", {keep}" if keep else ""
        wanted = ", ".join(sorted({draw.choice(draw.choice((LEAVES, floats))) for _ in range(draw.randint(1, 2))}))
        unused = f", allow_unused={draw.random() < 0.8}"
        ways = (
            f"{x}.sum().backward({keep})", f"{x}.sum().backward({keep})", f"({x} * {y}).sum().backward({keep})",
            f"{x}.mean().backward({keep})", f"{x}.backward({keep})", f"{x}.backward(torch.ones_like({x}){more})",
            f"torch.autograd.backward([{x}.sum(), {y}.sum()]{more})", f"{x}.sum().backward(inputs=[{wanted}]{more})",
            f"g{self.count} = torch.autograd.grad({x}.sum(), [{wanted}]{more}{unused})[0]",
            f"g{self.count} = torch.autograd.grad([{x}.sum(), {y}.mean()], [{wanted}]{more}{unused})[0]",
        )  # fmt: skip
        self.count += 1
        return draw.choice(ways)


def programs(longest: int = 24) -> st.SearchStrategy[list[Choice]]:
    """Programs, as lists of choices."""
    choice = st.tuples(st.integers(0, 99), st.integers(0, 2**32))
    return st.integers(4, longest).flatmap(lambda length: st.lists(choice, min_size=length, max_size=length))
