from dataclasses import dataclass, replace

import torch


@dataclass(frozen=True)
class Session:
    h: torch.Tensor
    c: torch.Tensor
    packets: int = 0

    @classmethod
    def fresh(cls, batch, width):
        return cls(torch.zeros(batch, width), torch.zeros(batch, width))

    def advanced(self, h, c):
        return replace(self, h=h.detach(), c=c.detach(), packets=self.packets + 1)


def packets(calls):
    """Packets of several phone calls, interleaved; a call's first packets come long before its second."""
    g = torch.Generator().manual_seed(2)
    order = [*range(calls), *torch.randint(0, calls, (200,), generator=g).tolist()]
    for call in order:
        frames = torch.randn(1, 7, 6, generator=g)
        yield call, frames, frames[..., :5].argmax(-1)
