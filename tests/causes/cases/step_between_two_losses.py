# step-between
import secondpass.autograd as torch

trunk, first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([p for m in (trunk, first, second) for p in m.parameters()], lr=0.1)
features = torch.tanh(trunk(torch.randn(5, 3)))
a = (first(features) ** 2).mean()
b = (second(features) ** 2).mean()  #! built
a.backward(retain_graph=True)
b.backward(retain_graph=True)
optimizer.step()  #! freed
b.backward()  #! failed
