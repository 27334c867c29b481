"""1-d signal segmentation; every stage has an auxiliary head, stages are recomputed in backward."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

CFG = {
    "seed": 1001,
    "length": 48,
    "channels": 12,
    "stages": 3,
    "micro_batch": 4,
    "accumulate": 4,
    "updates": 14,
    "lr": 1.5e-2,
    "aux_decay": 0.9,
}


class Stage(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.conv1 = nn.Conv1d(c, c, 3, padding=dilation, dilation=dilation)
        self.conv2 = nn.Conv1d(c, c, 1)
        self.norm = nn.GroupNorm(3, c)

    def forward(self, x):
        return x + self.conv2(F.gelu(self.norm(self.conv1(x))))


class Segmenter(nn.Module):
    def __init__(self, c, n_stages, n_classes=3):
        super().__init__()
        self.stem = nn.Conv1d(1, c, 5, padding=2)
        self.stages = nn.ModuleList(Stage(c, 2 ** i) for i in range(n_stages))
        self.aux_heads = nn.ModuleList(nn.Conv1d(c, n_classes, 1) for _ in range(n_stages - 1))
        self.final_head = nn.Conv1d(c, n_classes, 1)

    def forward(self, x):
        h = self.stem(x)
        aux = []
        for i, stage in enumerate(self.stages):
            h = checkpoint(stage, h, use_reentrant=False) if self.training else stage(h)
            if i < len(self.aux_heads) and self.training:
                aux.append(self.aux_heads[i](h))
        return self.final_head(h), aux


def synthetic_batches(batch, length, gen):
    """Endless signals: silence, a ramp, a wiggle, with labels 0/1/2."""
    t = torch.arange(length)
    while True:
        a = torch.randint(6, length // 2 - 4, (batch, 1), generator=gen)
        b = a + torch.randint(8, length // 2 - 4, (batch, 1), generator=gen)
        y = (t >= a).long() + (t >= b).long()
        x = torch.where(y == 1, (t - a) / 12.0, torch.zeros(()))
        x = torch.where(y == 2, torch.sin(t * 1.3), x)
        x = x + 0.15 * torch.randn(batch, length, generator=gen)
        yield x.unsqueeze(1), y


def supervised_loss(final, aux, y, aux_weight):
    main = F.cross_entropy(final, y)
    side = [F.cross_entropy(a, y) for a in aux]
    return main + aux_weight * sum(side), main


def train(model, cfg):
    gen = torch.Generator().manual_seed(cfg["seed"])
    stream = synthetic_batches(cfg["micro_batch"], cfg["length"], gen)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9, nesterov=True)
    aux_weight, main_losses = 0.5, []
    model.train()
    for update in range(cfg["updates"]):
        optimizer.zero_grad()
        main_sum = 0.0
        for _ in range(cfg["accumulate"]):
            x, y = next(stream)
            final, aux = model(x)
            loss, main = supervised_loss(final, aux, y, aux_weight)
            (loss / cfg["accumulate"]).backward()
            main_sum += main.item() / cfg["accumulate"]
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        aux_weight *= cfg["aux_decay"]
        main_losses.append(main_sum)
        if update % 3 == 0:
            print(f"update {update:2d}  main {main_sum:.4f}  aux weight {aux_weight:.3f}  |g| {grad_norm.item():.3f}")
    return main_losses


@torch.no_grad()
def accuracy(model, cfg):
    model.eval()
    x, y = next(synthetic_batches(16, cfg["length"], torch.Generator().manual_seed(5)))
    logits, _ = model(x)
    return (logits.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(CFG["seed"])
    model = Segmenter(CFG["channels"], CFG["stages"])
    losses = train(model, CFG)
    acc = accuracy(model, CFG)
    print(f"accuracy {acc:.4f}")
    heads = sum(p.abs().sum().item() for p in model.aux_heads.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (sum(p.abs().sum().item() for p in model.parameters()), heads, losses[-1], acc))
