# stale-gradient
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    if step % 2 == 0:
        optimizer.zero_grad()
        (model(torch.randn(4, 3)) ** 2).mean().backward()
    optimizer.step()  #! failed
