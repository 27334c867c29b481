# shared-forward: features
import secondpass.autograd as torch

trunk, heads = torch.nn.Linear(4, 8), [torch.nn.Linear(8, 1) for _ in range(3)]
parameters = [p for module in (trunk, *heads) for p in module.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for step in range(3):
    features = torch.sigmoid(trunk(torch.randn(5, 4)))  #! built
    losses = [(head(features) ** 2).mean() for head in heads]
    optimizer.zero_grad()
    losses[0].backward()  #! freed
    losses[1].backward()  #! failed
    optimizer.step()
