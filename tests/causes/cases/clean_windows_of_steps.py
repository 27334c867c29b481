# clean
import secondpass.autograd as torch

cell, read = torch.nn.GRUCell(2, 6), torch.nn.Linear(6, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *read.parameters()], lr=0.1)
hidden = torch.zeros(3, 6)
for window in range(4):
    hidden = hidden.detach()
    loss = 0.0
    for t in range(3):
        hidden = cell(torch.randn(3, 2), hidden)
        loss = loss + (read(hidden) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
