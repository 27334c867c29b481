# needless-retain
import secondpass.autograd as torch

trunk, first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([p for m in (trunk, first, second) for p in m.parameters()], lr=0.1)
for step in range(3):
    features = torch.tanh(trunk(torch.randn(5, 3)))
    a, b = (first(features) ** 2).mean(), (second(features) ** 2).mean()
    optimizer.zero_grad()
    a.backward(retain_graph=True)
    b.backward(retain_graph=True)  #! failed
    optimizer.step()
