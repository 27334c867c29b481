# Reptile on small "glyph" classification tasks
import copy
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class GlyphWorld:
    """A fixed alphabet of noisy 5x5 glyphs. A task picks three of them."""

    def __init__(self, nGlyphs=20, seed=3):
        self.rng = torch.Generator().manual_seed(seed)
        self.glyphs = (torch.rand(nGlyphs, 25, generator=self.rng) > 0.5).float()

    def drawTask(self, nWay=3):
        ids = random.sample(range(len(self.glyphs)), nWay)
        return self.glyphs[ids]

    def drawBatch(self, task, perClass=5):
        x = task.repeat_interleave(perClass, dim=0)
        x = x + 0.25 * torch.randn(x.shape, generator=self.rng)
        y = torch.arange(task.size(0)).repeat_interleave(perClass)
        return x, y


class ReptileTrainer:
    def __init__(self, model, world, innerLr=0.3, innerSteps=5, outerLr=1.0):
        self.model = model
        self.world = world
        self.innerLr = innerLr
        self.innerSteps = innerSteps
        self.outerOpt = torch.optim.SGD(model.parameters(), lr=outerLr)
        self.lossLog = []

    def innerLoop(self, task):
        learner = copy.deepcopy(self.model)
        learner.train()
        opt = torch.optim.SGD(learner.parameters(), lr=self.innerLr, momentum=0.5)
        lastLoss = None
        for step in range(self.innerSteps):
            x, y = self.world.drawBatch(task)
            opt.zero_grad()
            loss = F.cross_entropy(learner(x), y)
            loss.backward()
            opt.step()
            lastLoss = loss.item()
        return learner, lastLoss

    def metaStep(self, nTasks=3):
        self.outerOpt.zero_grad()
        for p in self.model.parameters():
            p.grad = torch.zeros_like(p)
        total = 0.0
        for _ in range(nTasks):
            learner, l = self.innerLoop(self.world.drawTask())
            total += l
            with torch.no_grad():
                for slow, fast in zip(self.model.parameters(), learner.parameters()):
                    slow.grad.add_((slow - fast) / nTasks)
        self.outerOpt.step()
        self.lossLog.append(total / nTasks)

    def testTask(self, task):
        learner, _ = self.innerLoop(task)
        learner.eval()
        with torch.no_grad():
            x, y = self.world.drawBatch(task, perClass=20)
            out = learner(x)
            return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def buildModel():
    return nn.Sequential(nn.Linear(25, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3))


if __name__ == '__main__':
    torch.manual_seed(11)
    random.seed(11)
    world = GlyphWorld()
    model = buildModel()
    trainer = ReptileTrainer(model, world)

    for epoch in range(10):
        trainer.metaStep()
        print('epoch', epoch, 'inner loss', round(trainer.lossLog[-1], 4))
        for g in trainer.outerOpt.param_groups:
            g['lr'] = 1.0 - 0.5 * epoch / 10

    results = [trainer.testTask(world.drawTask()) for _ in range(4)]
    testLoss = sum(r[0] for r in results) / len(results)
    testAcc = sum(r[1] for r in results) / len(results)
    print('test loss', round(testLoss, 4), 'acc', round(testAcc, 3))
    norm = sum(p.abs().sum() for p in model.parameters()).item()
    print('RESULT %.6g %.6g %.6g' % (norm, trainer.lossLog[-1], testLoss))
