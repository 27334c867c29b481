import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset


class CrossingObjects(Dataset):
    """Short clips of coloured blobs that wander; a detection is (crop descriptor, object id)."""

    def __init__(self, clips=5, frames=7, objects=4, dim=20, seed=0):
        rng = np.random.default_rng(seed)
        self.clips = []
        for _ in range(clips):
            looks = rng.normal(size=(objects, dim))
            clip = []
            for _ in range(frames):
                ids = rng.permutation(objects)[: rng.integers(2, objects + 1)]
                looks = looks + 0.1 * rng.normal(size=looks.shape)
                crops = looks[ids] + 0.8 * rng.normal(size=(len(ids), dim))
                clip.append((torch.tensor(crops, dtype=torch.float32), ids.tolist()))
            self.clips.append(clip)

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        return self.clips[i]


class AppearanceNet(nn.Module):
    def __init__(self, dim=20, width=32, out=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, out))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, crops):
        return F.normalize(self.body(crops), dim=-1)


@dataclass
class Tracklet:
    identity: int
    budget: int = 3
    gallery: deque = field(default_factory=deque)

    def update(self, embedding):
        self.gallery.append(embedding)
        while len(self.gallery) > self.budget:
            self.gallery.popleft()

    def prototype(self):
        return torch.stack(tuple(self.gallery)).mean(0)


class Tracker:
    def __init__(self):
        self.tracklets = {}

    def affinity(self, emb, scale):
        protos = torch.stack([t.prototype() for t in self.tracklets.values()])
        return scale.exp() * emb @ protos.t(), list(self.tracklets)

    def absorb(self, emb, ids):
        for e, i in zip(emb, ids):
            self.tracklets.setdefault(i, Tracklet(i)).update(e)


def association_loss(net, tracker, emb, ids):
    logits, order = tracker.affinity(emb, net.scale)
    known = [k for k, i in enumerate(ids) if i in tracker.tracklets]
    if not known:
        return None
    target = torch.tensor([order.index(ids[k]) for k in known])
    return F.cross_entropy(logits[known], target)


def run_clip(net, clip, opt=None):
    tracker, losses = Tracker(), []
    for crops, ids in clip:
        emb = net(crops)
        if tracker.tracklets:
            loss = association_loss(net, tracker, emb, ids)
            if loss is not None:
                losses.append(loss.item())
                if opt is not None:
                    opt.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_value_(net.parameters(), 0.5)
                    opt.step()
        tracker.absorb(emb.detach(), ids)
    return sum(losses) / max(1, len(losses))


def main():
    random.seed(4)
    torch.manual_seed(4)
    train, val = CrossingObjects(), CrossingObjects(clips=2, seed=9)
    net = AppearanceNet()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    best, patience = float("inf"), 3
    for epoch in range(8):
        order = random.sample(range(len(train)), len(train))
        tr = np.mean([run_clip(net, train[i], opt) for i in order])
        with torch.no_grad():
            va = np.mean([run_clip(net, val[i]) for i in range(len(val))])
        print(f"epoch {epoch}: train {tr:.4f} val {va:.4f}")
        if va < best - 1e-3:
            best, patience = va, 3
        else:
            patience -= 1
            if patience == 0:
                break
    print(f"RESULT {tr:.6g} {va:.6g}")


if __name__ == "__main__":
    main()
