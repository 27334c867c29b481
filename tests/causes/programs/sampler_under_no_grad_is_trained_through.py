# lost-history: x; keep-history
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(5, 3)
class Sampler:
    @torch.no_grad()  #! built
    def __call__(self, prompt):
        x = torch.randn(4, 3)
        for _ in range(2):
            both = torch.cat([x, prompt.expand(4, 2)], 1)
            x = x + 0.1 * net(both)
        return x
prompt = torch.zeros(1, 2, requires_grad=True)
opt = torch.optim.SGD([prompt], .1)
image = Sampler()(prompt)
loss = image.pow(2).mean()
loss.backward()  #! failed
opt.step()
