# clean
import secondpass.autograd as torch
from collections import deque

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
last, numbers = deque(maxlen=3), []
for step in range(12):
    loss = (model(torch.randn(4, 3)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    last.append(loss)
    numbers.append(loss.item())
