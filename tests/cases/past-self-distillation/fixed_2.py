import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from callbacks import PastSelf, Progress
from engine import Trainer


class Rings(Dataset):
    def __init__(self, n=120, classes=3, noise=0.25):
        g = torch.Generator().manual_seed(11)
        self.y = torch.arange(n) % classes
        phi = torch.rand(n, generator=g) * 6.283
        r = 1.0 + self.y + noise * torch.randn(n, generator=g)
        self.x = torch.stack([r * phi.cos(), r * phi.sin()], 1)
        flip = torch.rand(n, generator=g) < 0.15
        self.y = torch.where(flip, torch.randint(classes, (n,), generator=g), self.y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"id": i, "x": self.x[i], "y": self.y[i]}


class SelfDistillation:
    def __init__(self, net, memory, classes=3, ceiling=0.6):
        self.net, self.memory = net, memory
        self.classes, self.ceiling = classes, ceiling

    def step(self, batch, trainer):
        logits = self.net(batch["x"])
        hard = F.one_hot(batch["y"], self.classes).float()
        past = self.memory.lookup(batch["id"], hard).detach()
        alpha = self.ceiling * (trainer.epoch + 1) / trainer.epochs
        target = (1 - alpha) * hard + alpha * past
        loss = torch.sum(-target * F.log_softmax(logits, 1), 1).mean()
        return {"loss": loss, "soft": F.softmax(logits / self.memory.temperature, 1)}


def main():
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    memory = PastSelf()
    loader = DataLoader(Rings(), batch_size=24, shuffle=True, generator=torch.Generator().manual_seed(1))
    trainer = Trainer(SelfDistillation(net, memory), torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
                      [memory, Progress()])
    log = trainer.fit(loader)
    print("RESULT", *("%.6f" % v for v in log.values()))


if __name__ == "__main__":
    main()
