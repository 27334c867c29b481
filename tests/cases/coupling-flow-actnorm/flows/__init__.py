from .layers import ActNorm, AffineCoupling, Permute
from .model import Flow

__all__ = ["ActNorm", "AffineCoupling", "Permute", "Flow"]
