from dataclasses import dataclass


@dataclass
class Options:
    seed: int = 91
    epochs: int = 2
    batches: int = 5
    batch_size: int = 32
    latent: int = 2
    lambda_adv: float = 0.1
