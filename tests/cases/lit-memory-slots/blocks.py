from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class SlotState(NamedTuple):
    slots: torch.Tensor
    usage: torch.Tensor


class SlotBank(nn.Module):
    """Small key/value store that is written softly and read by attention."""

    def __init__(self, n_slots, width):
        super().__init__()
        self.n_slots, self.width = n_slots, width
        self.write_key = nn.Linear(width, n_slots)
        self.erase = nn.Linear(width, width)
        self.add = nn.Linear(width, width)
        self.state = None

    def blank(self, like):
        return SlotState(like.new_zeros(self.n_slots, self.width), like.new_zeros(self.n_slots))

    def forward(self, h):
        state = self.state if self.state is not None else self.blank(h)
        reads = []
        for t in range(h.size(1)):
            ht = h[:, t]
            w = F.softmax(self.write_key(ht) - state.usage, dim=-1)
            erase = torch.einsum("bs,bd->sd", w, torch.sigmoid(self.erase(ht))) / len(ht)
            add = torch.einsum("bs,bd->sd", w, torch.tanh(self.add(ht))) / len(ht)
            state = SlotState(state.slots * (1 - erase) + add, 0.9 * state.usage + 0.1 * w.detach().mean(0))
            att = F.softmax(ht @ state.slots.t() / self.width ** 0.5, dim=-1)
            reads.append(att @ state.slots)
        self.state = state
        return torch.stack(reads, dim=1)
