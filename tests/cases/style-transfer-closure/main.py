import torch
from torch import nn
import torch.nn.functional as F


def gram(f):
    c = f.flatten(1)
    return c @ c.T / c.numel()


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = gram(target).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram(x), self.target)
        return x


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


def build(features, content, style):
    model, contents, styles = nn.Sequential(), [], []
    for i, layer in enumerate(features):
        if isinstance(layer, nn.ReLU):
            layer = nn.ReLU(inplace=False)
        model.add_module(f"{type(layer).__name__}_{i}", layer)
        if isinstance(layer, nn.Conv2d):
            styles.append(StyleLoss(model(style)))
            model.add_module(f"style_{i}", styles[-1])
        if i == 2:
            contents.append(ContentLoss(model(content)))
            model.add_module(f"content_{i}", contents[-1])
    return model.requires_grad_(False), contents, styles


torch.manual_seed(19)
features = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)]
content, style = torch.rand(3, 16, 16), torch.rand(3, 16, 16)
model, contents, styles = build(features, content, style)
image = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([image])
run = [0]
scores = []
while run[0] <= 40:
    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        model(image)
        style_score = sum(s.loss for s in styles) * 1e4
        content_score = sum(c.loss for c in contents)
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        if run[0] % 10 == 0:
            scores.append((style_score.item(), content_score.item()))
        return loss

    optimizer.step(closure)
print("RESULT", *(f"{v:.4g}" for v in scores[0]))
