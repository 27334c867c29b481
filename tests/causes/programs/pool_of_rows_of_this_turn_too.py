# stored-history: self.images[0] self.images[1] self.images[2] self.images[3]; detach
import torch, torch.nn as nn
torch.manual_seed(0)
class Pool:
    def __init__(self):
        self.images = []
    def push(self, batch):
        for one in batch.split(1):
            self.images.append(one)
class Model:
    def __init__(self):
        self.G, self.D, self.pool = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), Pool()
        self.gen, self.dis = torch.optim.SGD(self.G.parameters(), .1), torch.optim.SGD(self.D.parameters(), .1)
    def generate(self):
        fake = self.G(torch.randn(2, 2)).tanh()  #! built
        self.gen.zero_grad()
        (-self.D(fake)).mean().backward()  #! freed
        self.gen.step()
        self.pool.push(fake)
    def judge(self):
        loss = self.D(torch.cat(self.pool.images)).exp().mean()
        self.dis.zero_grad()
        loss.backward()  #! failed
        self.dis.step()
def main():
    model = Model()
    for it in range(4):
        model.generate()
        if it > 0:
            model.judge()
main()
