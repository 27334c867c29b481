import torch
from torch import nn


class BaseModel(nn.Module):
    def compile(self, lr):
        self.optim = torch.optim.Adam(self.parameters(), lr=lr)
        self.criterion = nn.BCEWithLogitsLoss()

    def reg_loss(self, l2=1e-4):
        return l2 * sum(p.square().sum() for name, p in self.named_parameters() if "emb" in name)

    def fit(self, x, y, batch_size, epochs):
        history = []
        for _ in range(epochs):
            for i in range(0, len(x), batch_size):
                pred = self(x[i:i + batch_size]).squeeze(1)
                self.optim.zero_grad()
                loss = self.criterion(pred, y[i:i + batch_size])
                total_loss = loss + self.reg_loss()
                total_loss.backward()
                self.optim.step()
                history.append(total_loss.item())
        return history
