import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ScanNet(nn.Module):
    def __init__(self, regions, hidden):
        super().__init__()
        self.lstm = nn.LSTM(regions, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 1)
        self.hidden = self.init_hidden(hidden)

    def init_hidden(self, width, batch=16):
        return torch.zeros(1, batch, width), torch.zeros(1, batch, width)

    def forward(self, x):
        out, hidden = self.lstm(x, self.hidden)
        self.hidden = tuple(h.detach() for h in hidden)
        return self.linear(out[:, -1]).squeeze(-1)


class ScanModule(nn.Module):
    def __init__(self, regions, hidden):
        super().__init__()
        self.net = ScanNet(regions, hidden)
        self.criterion = nn.BCEWithLogitsLoss()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self.net(x), y)

    def validation_step(self, batch):
        x, y = batch
        return ((self.net(x) > 0) == y.bool()).float().mean()


def loaders():
    x = torch.randn(160, 10, 6)
    y = (x[:, -3:].mean((1, 2)) > 0).float()
    return DataLoader(TensorDataset(x[:128], y[:128]), batch_size=16, shuffle=True), DataLoader(TensorDataset(x[128:], y[128:]), batch_size=16)
