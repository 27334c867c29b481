import contextlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Settings:
    bands: int = 8
    frames: int = 10
    accents: int = 4
    width: int = 16
    epochs: int = 4
    batch: int = 24
    lr: float = 0.2


class Encoder(nn.Module):
    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.conv = nn.Conv1d(s.bands, s.width, 3)
        self.gru = nn.GRU(s.width, s.width, batch_first=True)

    def forward(self, spectrum: Tensor) -> Tensor:
        h = torch.relu(self.conv(spectrum)).transpose(1, 2)
        return self.gru(h)[0].mean(1)


class AccentModel(nn.Module):
    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.encoder = Encoder(s)
        self.classifier = nn.Sequential(nn.LayerNorm(s.width), nn.Linear(s.width, s.accents))

    def forward(self, spectrum: Tensor) -> Tensor:
        return self.classifier(self.encoder(spectrum))


@contextlib.contextmanager
def update(module: nn.Module, optimizer: torch.optim.Optimizer):
    """Collects the gradients made inside the block and applies them at its end."""
    module.zero_grad()
    yield
    nn.utils.clip_grad_value_(module.parameters(), 1.0)
    optimizer.step()


def speakers(s: Settings, n: int) -> TensorDataset:
    accent = torch.randint(s.accents, (n,))
    tilt = torch.linspace(-1, 1, s.bands) * (accent.float() - 1.5).unsqueeze(1)
    rhythm = torch.sin(torch.arange(s.frames) * (1 + 0.5 * accent.unsqueeze(1)))
    return TensorDataset(0.5 * tilt.unsqueeze(2) + rhythm.unsqueeze(1) + 0.8 * torch.randn(n, s.bands, s.frames), accent)


def accuracy(model: nn.Module, data: TensorDataset) -> float:
    with torch.no_grad():
        spectrum, accent = data.tensors
        return (model(spectrum).argmax(1) == accent).float().mean().item()


def main() -> None:
    torch.manual_seed(95)
    s = Settings()
    train, test = speakers(s, 168), speakers(s, 96)
    model = AccentModel(s)
    optimizer = torch.optim.SGD(model.parameters(), lr=s.lr)
    loader = DataLoader(train, batch_size=s.batch, shuffle=True)
    for epoch in range(s.epochs):
        for spectrum, accent in loader:
            with update(model.encoder, optimizer):
                loss = nn.functional.cross_entropy(model(spectrum), accent)
                loss.backward()
        print(f"epoch {epoch}: {loss.item():.4f}")
    weight = model.classifier[1].weight.abs().sum().item()
    print(f"RESULT {loss.item():.6g} {accuracy(model, test):.4g} {weight:.6g}")


if __name__ == "__main__":
    main()
