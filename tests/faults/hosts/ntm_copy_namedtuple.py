from typing import NamedTuple
import torch
from torch import Tensor, nn
import torch.nn.functional as F


class MemoryState(NamedTuple):
    memory: Tensor        # (B, slots, width)
    read_w: Tensor        # (B, slots)
    write_w: Tensor       # (B, slots)
    read_vec: Tensor      # (B, width)
    ctrl: Tensor          # (B, hidden)


class Head(nn.Module):
    """content addressing, then interpolation with the previous weighting and a circular shift"""

    def __init__(self, hidden: int, width: int):
        super().__init__()
        self.sizes = (width, 1, 1, 3)
        self.params_net = nn.Linear(hidden, sum(self.sizes))

    def forward(self, h: Tensor, memory: Tensor, prev_w: Tensor) -> Tensor:
        key, beta, gate, shift = self.params_net(h).split(self.sizes, dim=-1)
        sim = F.cosine_similarity(memory, key.tanh().unsqueeze(1), dim=-1)
        content = F.softmax(F.softplus(beta) * sim, dim=-1)
        g = gate.sigmoid()
        w = g * content + (1 - g) * prev_w
        s = shift.softmax(-1)
        return s[:, :1] * w.roll(-1, 1) + s[:, 1:2] * w + s[:, 2:] * w.roll(1, 1)


class NTM(nn.Module):
    def __init__(self, bits: int, slots: int = 10, width: int = 8, hidden: int = 24):
        super().__init__()
        self.slots = slots
        self.cell = nn.GRUCell(bits + 1 + width, hidden)
        self.reader, self.writer = Head(hidden, width), Head(hidden, width)
        self.erase_add = nn.Linear(hidden, 2 * width)
        self.out = nn.Linear(hidden + width, bits)
        self.memory0 = nn.Parameter(0.05 * torch.randn(slots, width))
        self.h0 = nn.Parameter(torch.zeros(hidden))
        self.read0 = nn.Parameter(torch.zeros(width))

    def initial(self, batch: int) -> MemoryState:
        focus = torch.zeros(batch, self.slots)
        focus[:, 0] = 1.0
        return MemoryState(self.memory0.expand(batch, -1, -1), focus, focus,
                           self.read0.expand(batch, -1), self.h0.expand(batch, -1))

    def step(self, x: Tensor, s: MemoryState) -> tuple[Tensor, MemoryState]:
        h = self.cell(torch.cat([x, s.read_vec], -1), s.ctrl)
        ww = self.writer(h, s.memory, s.write_w)
        erase, add = self.erase_add(h).chunk(2, -1)
        mem = s.memory * (1 - ww.unsqueeze(-1) * erase.sigmoid().unsqueeze(1))
        mem = mem + ww.unsqueeze(-1) * add.tanh().unsqueeze(1)
        rw = self.reader(h, mem, s.read_w)
        r = (rw.unsqueeze(-1) * mem).sum(1)
        return self.out(torch.cat([h, r], -1)), s._replace(memory=mem, read_w=rw, write_w=ww, read_vec=r, ctrl=h)


def copy_task(batch: int, length: int, bits: int, gen: torch.Generator) -> tuple[Tensor, Tensor]:
    pattern = torch.randint(0, 2, (length, batch, bits), generator=gen).float()
    inp = torch.zeros(2 * length + 1, batch, bits + 1)
    inp[:length, :, :bits] = pattern
    inp[length, :, bits] = 1.0
    return inp, pattern


def run_episode(ntm: NTM, inp: Tensor, length: int) -> Tensor:
    state = ntm.initial(inp.size(1))
    outputs = []
    for x in inp:
        y, state = ntm.step(x, state)
        outputs.append(y)
    return torch.stack(outputs[-length:])


def main() -> None:
    torch.manual_seed(31)
    gen = torch.Generator().manual_seed(32)
    bits, length = 4, 3
    ntm = NTM(bits)
    optim = torch.optim.RMSprop(ntm.parameters(), lr=6e-3, momentum=0.5)
    losses: list[float] = []
    for episode in range(26):
        inp, pattern = copy_task(12, length, bits, gen)
        logits = run_episode(ntm, inp, length)
        loss = F.binary_cross_entropy_with_logits(logits, pattern)
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(ntm.parameters(), 5.0)
        optim.step()
        losses.append(loss.item())
        if episode % 5 == 4:
            with torch.no_grad():
                inp, pattern = copy_task(20, length, bits, gen)
                wrong = ((run_episode(ntm, inp, length) > 0).float() != pattern).float().mean()
            print(f"episode {episode + 1:>2}  loss {sum(losses[-5:]) / 5:.4f}  bit error {wrong.item():.3f}")
    norm = sum(p.abs().sum().item() for p in ntm.parameters())
    print(f"RESULT {norm:.6g} {ntm.memory0.abs().sum().item():.6g} {losses[-1]:.6g}")


if __name__ == "__main__":
    main()
