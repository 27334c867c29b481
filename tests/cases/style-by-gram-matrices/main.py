import torch
import torch.nn as nn
import torch.nn.functional as F


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    f = input.view(a * b, c * d)
    return torch.mm(f, f.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, feature):
        super().__init__()
        self.target = gram_matrix(feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


def build(cnn, style, content):
    model, losses = nn.Sequential(), []
    for i, layer in enumerate(cnn.children()):
        if isinstance(layer, nn.ReLU):
            layer = nn.ReLU(inplace=False)
        model.add_module(f"layer_{i}", layer)
        if isinstance(layer, nn.Conv2d):
            for kind, image in ((ContentLoss, content), (StyleLoss, style)):
                probe = kind(model(image).detach())
                model.add_module(f"{kind.__name__}_{i}", probe)
                losses.append((probe, 1.0 if kind is ContentLoss else 1e4))
    return model, losses


torch.manual_seed(7)
cnn = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(6, 6, 3, padding=1)).eval()
content, style = torch.rand(1, 3, 10, 10), torch.rand(1, 3, 10, 10)
model, losses = build(cnn, style, content)
picture = content.clone()
picture.requires_grad_(True)
model.eval()
model.requires_grad_(False)
optimizer = torch.optim.LBFGS([picture])
run = [0]
while run[0] <= 60:

    def closure():
        with torch.no_grad():
            picture.clamp_(0, 1)
        optimizer.zero_grad()
        model(picture)
        loss = sum(weight * probe.loss for probe, weight in losses)
        loss.backward()
        run[0] += 1
        closure.last = loss.item()
        return loss

    optimizer.step(closure)
with torch.no_grad():
    picture.clamp_(0, 1)
print(f"RESULT {closure.last:.5f} {picture.mean().item():.5f}")
