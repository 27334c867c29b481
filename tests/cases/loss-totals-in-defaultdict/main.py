from collections import defaultdict

import torch
from torch import nn
import torch.nn.functional as F


def keypoints(n):
    image = torch.randn(n, 12)
    return image, torch.stack([image[:, :6].mean(1), image[:, 6:].mean(1)], 1), (image.sum(1) > 0).float()


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 24), nn.SiLU())
        self.point, self.visible = nn.Linear(24, 2), nn.Linear(24, 1)

    def forward(self, image):
        h = self.body(image)
        return self.point(h), self.visible(h).squeeze(1)


def loss_parts(outputs, point, visible):
    return {"point": F.smooth_l1_loss(outputs[0], point), "visible": F.binary_cross_entropy_with_logits(outputs[1], visible)}


def main():
    torch.manual_seed(21)
    image, point, visible = keypoints(160)
    net = Detector()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        totals = defaultdict(float)
        for i in range(0, 160, 32):
            parts = loss_parts(net(image[i:i + 32]), point[i:i + 32], visible[i:i + 32])
            for name, value in parts.items():
                totals[name] += value
            total = sum(totals.values())
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
        print(epoch, {k: round(float(v) / 5, 4) for k, v in totals.items()})
    print("RESULT", *(f"{float(v):.6g}" for v in totals.values()), f"{net.point.weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    main()
