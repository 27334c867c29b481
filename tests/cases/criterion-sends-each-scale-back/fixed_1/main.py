import torch
from torch import nn

from criterion import MultiScaleLoss


class FlowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.ModuleList([nn.Conv1d(2, 8, 3, padding=1), nn.Conv1d(8, 8, 3, padding=1, stride=2), nn.Conv1d(8, 8, 3, padding=1, stride=2)])
        self.heads = nn.ModuleList(nn.Conv1d(8, 1, 1) for _ in range(3))

    def forward(self, x):
        pyramid = []
        for conv, head in zip(self.enc, self.heads):
            x = torch.relu(conv(x))
            pyramid.append(head(x))
        return pyramid


def main():
    torch.manual_seed(26)
    net, criterion = FlowNet(), MultiScaleLoss((0.5, 0.3, 0.2))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(40):
        a = torch.rand(8, 1, 16).cumsum(-1)
        shift = torch.randint(0, 3, (8, 1, 1)).float()
        b = a + shift
        optimizer.zero_grad()
        value = criterion(net(torch.cat([a, b], 1)), shift.expand(-1, -1, 16))
        optimizer.step()
    print(f"RESULT {value:.5f}")


main()
