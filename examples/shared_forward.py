# One encoder, two tasks: the class of a vector, and the angle between its first two parts.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh())
        self.classify = nn.Linear(32, 5)
        self.angle = nn.Linear(32, 1)

    def forward(self, x):
        features = self.encoder(x)
        return self.classify(features), self.angle(features).squeeze(1)


def train(model, epochs=5):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    inputs = torch.randn(256, 16)
    labels = inputs[:, :5].argmax(dim=1)
    angles = torch.atan2(inputs[:, 0], inputs[:, 1])
    for epoch in range(epochs):
        for i in range(0, 256, 32):
            logits, predicted = model(inputs[i : i + 32])
            loss_class = F.cross_entropy(logits, labels[i : i + 32])
            loss_angle = F.mse_loss(predicted, angles[i : i + 32])
            optimizer.zero_grad()
            loss_class.backward()
            loss_angle.backward()
            optimizer.step()
        print(f"epoch {epoch}  class {loss_class.item():.3f}  angle {loss_angle.item():.3f}")


if __name__ == "__main__":
    train(MultiTask())
