import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import Runner

config = dict(
    model=dict(width=8, levels=2),
    optimizer=dict(lr=5e-3, weight_decay=1e-4),
    optimizer_config=dict(grad_clip=dict(max_norm=5.0)),
    custom_hooks=[dict(type="EMAOptimizerHook", momentum=0.1, priority=49)],
    loss=dict(silog=0.85, grad=0.5),
    epochs=3,
)


class DepthNet(nn.Module):
    def __init__(self, width, levels):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(3 if i == 0 else width, width, 3, 2, 1) for i in range(levels))
        self.up = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for _ in range(levels))
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        for c in self.down:
            x = F.elu(c(x))
        for c in self.up:
            x = F.elu(c(F.interpolate(x, scale_factor=2.0)))
        return F.softplus(self.out(x)) + 0.1


def silog(pred, depth, lam):
    d = pred.log() - depth.log()
    return (d.pow(2).mean() - lam * d.mean() ** 2).clamp_min(1e-8).sqrt()


def edges(pred, depth):
    diff = pred.log() - depth.log()
    return diff.diff(dim=-1).abs().mean() + diff.diff(dim=-2).abs().mean()


def batch_processor(model, batch):
    img, depth = batch
    pred = model(img)
    losses = dict(silog=silog(pred, depth, config["loss"]["silog"]), edge=config["loss"]["grad"] * edges(pred, depth))
    loss = sum(losses.values())
    return dict(loss=loss, log_vars={k: v.item() for k, v in losses.items()} | {"loss": loss.item()})


def make_loader(n=5, size=16):
    for seed in range(n):
        g = torch.Generator().manual_seed(seed)
        tilt = torch.rand(4, 1, 1, 1, generator=g) + 0.2
        row = torch.linspace(3, 1, size).view(1, 1, size, 1)
        depth = row * tilt + 0.2 * torch.rand(4, 1, size, size, generator=g)
        yield torch.cat([1 / depth, depth, torch.rand(4, 1, size, size, generator=g)], 1), depth


if __name__ == "__main__":
    torch.manual_seed(77)
    model = DepthNet(**config["model"])
    runner = Runner(model, torch.optim.AdamW(model.parameters(), **config["optimizer"]), batch_processor, config["epochs"])
    runner.register_training_hooks(config["optimizer_config"], config["custom_hooks"])
    log = runner.run(list(make_loader()))
    with torch.no_grad():
        img, depth = next(make_loader())
        ema = silog(log["ema"](img), depth, 0.85)
    print("RESULT", f"{log['loss']:.6f}", f"{ema:.6f}")
