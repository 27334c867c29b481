# repeated-backward: cost; other
import torch
w = torch.randn(6, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for goal in torch.randn(3, 6):
    opt.zero_grad()
    cost = (torch.sigmoid(w * w) - goal).pow(2).sum()
    cost.backward()  #! freed

    def closure():
        cost.backward()  #! failed
        return cost

    opt.step(closure)
