import torch


class Model:
    def __init__(self):
        self.w = torch.randn(3, 1)
        self.b = torch.zeros(1)
        for p in self.parameters():
            p.requires_grad = True

    def parameters(self):
        return [self.w, self.b]


model = Model()
for i in range(100):
    x = torch.randn(8, 3)
    loss = (x @ model.w + model.b).pow(2).mean()
    loss.backward()  # SP403
    lr = 0.1 if i < 50 else 0.01
    for p in model.parameters():
        p.data += -lr * p.grad
