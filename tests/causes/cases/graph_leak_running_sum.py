# graph-leak: running
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
running = 0.0
for step in range(9):
    loss = (model(torch.randn(4, 3)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss  #! failed
