import torch
from torch import nn


class StreamingTagger(nn.Module):
    """Causal conv front end + GRU. The state is a dict so it can be shipped to the device code."""

    def __init__(self, n_tags, ch=12, hidden=16, k=9, stride=4):
        super().__init__()
        self.k, self.stride, self.hidden, self.ch = k, stride, hidden, ch
        self.front = nn.Conv1d(1, ch, k, stride=stride)
        self.mid = nn.Conv1d(ch, ch, 3)
        self.rnn = nn.GRU(ch, hidden, batch_first=True)
        self.head = nn.Linear(hidden, n_tags)

    def init_state(self, batch):
        return {
            "samples": torch.zeros(batch, 1, self.k - self.stride),
            "frames": torch.zeros(batch, self.ch, 2),
            "h": torch.zeros(1, batch, self.hidden),
        }

    def forward(self, wave, state):
        wave = torch.cat([state["samples"], wave], -1)
        low = torch.relu(self.front(wave))
        padded = torch.cat([state["frames"], low], -1)
        mid = torch.relu(self.mid(padded))
        y, h = self.rnn(mid.transpose(1, 2), state["h"])
        new_state = {
            "samples": wave[..., -(self.k - self.stride):],
            "frames": padded[..., -2:],
            "h": h,
        }
        return self.head(y).transpose(1, 2), new_state


def cut(state):
    return {name: v.detach() for name, v in state.items()}
