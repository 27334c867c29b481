from torch import nn
import torch.nn.functional as F


class UpscaleNet(nn.Module):
    """Residual on top of bilinear; sub-pixel convolution at the end."""

    def __init__(self, ch=12):
        super().__init__()
        self.head = nn.Conv2d(1, ch, 3, padding=1)
        self.body = nn.Conv2d(ch, ch, 3, padding=1)
        self.tail = nn.Conv2d(ch, 4, 3, padding=1)

    def forward(self, x):
        h = F.relu(self.head(x))
        h = h + F.relu(self.body(h))
        base = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return base + F.pixel_shuffle(self.tail(h), 2)
