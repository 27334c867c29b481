# hoisted-forward: penalty
import secondpass.autograd as torch

weight = torch.randn(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
penalty = (weight**2).sum()  #! built
data = torch.randn(6, 4)


def closure():
    optimizer.zero_grad()
    loss = ((data * weight).sum(1) ** 2).mean() + 0.1 * penalty
    loss.backward()  #! freed failed
    return loss


for step in range(3):
    closure()
    optimizer.step()
