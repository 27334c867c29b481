import torch
from torch import nn


class ConvGRUPredictor(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.gates = nn.Conv2d(1 + channels, 2 * channels, 3, padding=1)
        self.cand = nn.Conv2d(1 + channels, channels, 3, padding=1)
        self.head = nn.Conv2d(channels, 1, 1)

    def init_hidden(self, frame):
        return frame.new_zeros(frame.shape[0], self.channels, *frame.shape[-2:])

    def forward(self, frames, hidden):
        preds = []
        for frame in frames:
            z, r = torch.sigmoid(self.gates(torch.cat([frame, hidden], 1))).chunk(2, 1)
            n = torch.tanh(self.cand(torch.cat([frame, r * hidden], 1)))
            hidden = (1 - z) * n + z * hidden
            preds.append(self.head(hidden))
        return torch.stack(preds), hidden
