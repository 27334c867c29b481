import torch


class ClipDataset:
    """Short videos are one clip each; the last ones are long and come in several clips."""

    def __init__(self, cfg):
        self.cfg = cfg

    def __iter__(self):
        for v in range(self.cfg.videos):
            clips = 3 if v >= self.cfg.long_from else 1
            start, speed = torch.randn(1, 1, 6, 6), 0.1 * torch.randn(1, 1, 6, 6)
            for c in range(clips):
                t = torch.arange(self.cfg.clip + 1).view(-1, 1, 1, 1, 1) + c * self.cfg.clip
                frames = torch.sin(start + speed * t)
                yield {"frames": frames[:-1], "target": frames[1:], "first": c == 0}
