import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class ImageTower(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten())
        self.fc = nn.Linear(6 * 9, d)

    def forward(self, img):
        return F.normalize(self.fc(self.conv(img)), dim=-1)


class TextTower(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.fc = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, d))

    def forward(self, ids):
        return F.normalize(self.fc(self.emb(ids).mean(1)), dim=-1)


class GradCache:
    """Contrastive loss over a batch that would not fit at once.

    1. encode all chunks without a graph
    2. loss and its gradient with respect to the representations
    3. encode again chunk by chunk and feed the cached gradients in
    """

    def __init__(self, towers, chunk, lossFn):
        self.towers = towers
        self.chunk = chunk
        self.loss_fn = lossFn

    @torch.no_grad()
    def encode(self, tower, x):
        return torch.cat([tower(c) for c in x.split(self.chunk)])

    def build_cache(self, reps):
        reps = [r.requires_grad_() for r in reps]
        loss = self.loss_fn(*reps)
        loss.backward()
        return [r.grad.split(self.chunk) for r in reps], loss.item()

    def __call__(self, *inputs):
        reps = [self.encode(t, x) for t, x in zip(self.towers, inputs)]
        cache, value = self.build_cache(reps)
        for tower, x, grads in zip(self.towers, inputs, cache):
            for piece, g in zip(x.split(self.chunk), grads):
                tower(piece).backward(gradient=g)
        return value


def make_pairs(n, gen):
    concept = torch.randint(0, 8, (n,), generator=gen)
    rows, cols = concept // 3, concept % 3
    img = 0.3 * torch.randn(n, 1, 6, 6, generator=gen)
    for i, (r, c) in enumerate(zip(rows.tolist(), cols.tolist())):
        img[i, 0, 2 * r:2 * r + 2, 2 * c:2 * c + 2] += 2.0
    text = torch.stack([rows, 3 + cols, 6 + torch.randint(0, 4, (n,), generator=gen)], dim=1)
    return img, text, concept


torch.manual_seed(77)
gen = torch.Generator().manual_seed(78)
images, captions, _ = make_pairs(96, gen)
towers = nn.ModuleDict({"image": ImageTower(8), "text": TextTower(10, 8)})
logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.1)))


def clip_loss(zi, zt):
    logits = logit_scale.exp() * zi @ zt.T
    y = torch.arange(len(zi))
    return 0.5 * (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y))


step_fn = GradCache([towers["image"], towers["text"]], chunk=8, lossFn=clip_loss)
optim = torch.optim.Adam([
    {"params": towers.parameters()},
    {"params": [logit_scale], "lr": 1e-3},
], lr=1e-2)

losses = []
for epoch in range(6):
    for rows in torch.randperm(96, generator=gen).split(32):
        optim.zero_grad()
        losses.append(step_fn(images[rows], captions[rows]))
        optim.step()
        with torch.no_grad():
            logit_scale.clamp_(0, math.log(50))
    print("epoch %d loss %.4f scale %.3f" % (epoch, sum(losses[-3:]) / 3, logit_scale.exp().item()))

with torch.no_grad():
    img, txt, concept = make_pairs(64, gen)
    best = (towers["image"](img) @ towers["text"](txt).T).argmax(1)
    r1 = (concept[best] == concept).float().mean().item()
print("retrieval by concept %.3f" % r1)
size = {k: sum(p.abs().sum().item() for p in t.parameters()) for k, t in towers.items()}
print("RESULT %.6g %.6g %.6g %.6g" % (size["image"], size["text"], logit_scale.item(), losses[-1]))
