# silent-reuse: self.place; detach
import torch
torch.manual_seed(0)
class Cart:
    def __init__(self):
        self.place = torch.zeros(4, 2)
    def tick(self, push):
        self.place = torch.lerp(self.place, push, 0.25)  #! built
        return self.place
trim = torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.SGD([trim], .1)
cart = Cart()
for t in range(12):
    where = cart.tick(trim + torch.randn(4, 2))
    miss = where.pow(2).mean()
    opt.zero_grad()
    miss.backward()  #! freed failed
    opt.step()
