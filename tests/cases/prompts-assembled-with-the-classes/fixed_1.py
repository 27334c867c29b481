import torch
from torch import nn
from torch.nn import functional as F


class PromptLearner(nn.Module):
    """A few context vectors, the same for all classes, put before each class name."""

    def __init__(self, width=12, context=3):
        super().__init__()
        self.context = nn.Parameter(0.02 * torch.randn(context, width))

    def set_classes(self, names):
        self.names = names

    def forward(self):
        before = self.context.unsqueeze(0).expand(len(self.names), -1, -1)
        return torch.cat([before, self.names], dim=1)


class PromptedClassifier(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.text = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, 8)).requires_grad_(False)
        self.prompt = PromptLearner(width)

    def forward(self, image):
        classes = F.normalize(self.text(self.prompt()).mean(1), dim=-1)
        return 10 * F.normalize(image, dim=-1) @ classes.T


def main():
    torch.manual_seed(83)
    model = PromptedClassifier()
    model.prompt.set_classes(torch.randn(5, 2, 12))
    optimizer = torch.optim.SGD(model.prompt.parameters(), lr=0.5)
    centres = torch.randn(5, 8)
    for step in range(60):
        y = torch.randint(0, 5, (32,))
        loss = F.cross_entropy(model(centres[y] + 0.3 * torch.randn(32, 8)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.5f}")


main()
