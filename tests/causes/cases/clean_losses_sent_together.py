# clean
import secondpass.autograd as torch

trunk, heads = torch.nn.Linear(4, 8), [torch.nn.Linear(8, 1) for _ in range(3)]
optimizer = torch.optim.SGD([p for m in (trunk, *heads) for p in m.parameters()], lr=0.1)
for step in range(3):
    features = torch.sigmoid(trunk(torch.randn(5, 4)))
    losses = [(head(features) ** 2).mean() for head in heads]
    optimizer.zero_grad()
    torch.autograd.backward(losses)
    optimizer.step()
