# clean
import secondpass.autograd as torch

first, second = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for turn in range(6):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    one, other = ((first(x) - y) ** 2).mean(), ((first(x) + second(x) - y) ** 2).mean()
    norms = []
    for loss in (one, other):
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        norms.append(float((first.weight.grad**2).sum()))
    optimizer.zero_grad()
    (one / norms[0] + other / norms[1]).backward()
    optimizer.step()
