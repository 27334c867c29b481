from torch import Tensor, nn


class Generator(nn.Module):
    def __init__(self, latent_dim: int, width: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(latent_dim, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 2),
        )

    def forward(self, z: Tensor) -> Tensor:
        return self.body(z)


class Critic(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width), nn.SiLU(),
            nn.LayerNorm(width),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).squeeze(-1)
