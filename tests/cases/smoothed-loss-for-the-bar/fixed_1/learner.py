import torch
import torch.nn.functional as F

from progress import Progress


class Learner:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        self.progress = Progress()

    def fit(self, data):
        for x, y in data:
            loss = F.mse_loss(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.progress.update(loss.item())
