import torch


class FeatureCache:
    def __init__(self, backbone):
        self.backbone = backbone.eval().requires_grad_(False)
        self.known = {}

    def __len__(self):
        return len(self.known)

    @torch.no_grad()
    def __call__(self, key, x):
        if key not in self.known:
            self.known[key] = self.backbone(x[None]).squeeze(0)
        return self.known[key]
