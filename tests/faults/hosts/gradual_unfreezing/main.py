import torch
from torch import nn
import torch.nn.functional as F

from lm import Backbone, pretrain
from schedule import GradualUnfreezer, set_lr, slanted_triangle

VOCAB, DIM = 12, 16


def markov(n, length, flip):
    """Sequences that climb (or, flipped, descend) the vocabulary most of the time."""
    ids = torch.randint(VOCAB, (n, 1))
    cols = [ids]
    for _ in range(length - 1):
        move = torch.where(torch.rand(n, 1) < 0.8, 1, 3)
        cols.append((cols[-1] + torch.where(flip.view(-1, 1), -move, move)) % VOCAB)
    return torch.cat(cols, 1)


class Classifier(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(3 * DIM, 2)

    def forward(self, ids):
        feats, _ = self.backbone(ids)
        return self.head(torch.cat([feats[:, -1], feats.mean(1), feats.amax(1)], 1))


def mass(module):
    return sum(p.detach().abs().sum().item() for p in module.parameters())


def main():
    torch.manual_seed(12)
    backbone = Backbone(VOCAB, DIM)
    decoder, nats = pretrain(backbone, markov(8, 151, torch.rand(8) < 0.5), VOCAB)
    print("LM: %.4f -> %.4f nats" % (nats[0], nats[-1]))

    model = Classifier(backbone)
    optimizer = torch.optim.SGD([{"params": list(model.head.parameters()), "lr": 0.5, "peak": 0.5}], momentum=0.9)
    unfreezer = GradualUnfreezer(optimizer, [backbone.rnn2, backbone.rnn1, backbone.embed], base_lr=0.5)
    curve, per_stage = [], 6
    for stage in range(4):
        thawed = unfreezer.thaw_next() if stage else "head only"
        for step in range(per_stage):
            set_lr(optimizer, slanted_triangle(step, per_stage))
            label = torch.rand(16) < 0.5
            loss = F.cross_entropy(model(markov(16, 8, label)), label.long())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
            optimizer.step()
            curve.append(loss.item())
        print("stage %d (%s): loss %.4f, %d groups" % (stage, thawed, curve[-1], len(optimizer.param_groups)))

    model.eval()
    with torch.no_grad():
        label = torch.rand(64) < 0.5
        accuracy = (model(markov(64, 8, label)).argmax(1) == label).float().mean().item()
    print("RESULT", *("%.6g" % v for v in (mass(backbone), mass(decoder), mass(model.head), nats[-1], curve[-1], accuracy)))


if __name__ == "__main__":
    main()
