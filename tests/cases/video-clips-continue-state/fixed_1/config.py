from dataclasses import dataclass


@dataclass
class Config:
    seed: int = 31
    channels: int = 4
    clip: int = 3
    lr: float = 5e-3
    long_from: int = 40
    videos: int = 44
