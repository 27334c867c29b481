# clean
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    try:
        if step == 2:
            raise RuntimeError("out of memory")
        optimizer.zero_grad()
        (model(torch.randn(4, 3)) ** 2).mean().backward()
        optimizer.step()
    except RuntimeError:
        continue
