# clean
# Every pass walks more than the one before, but nothing twice.
import secondpass.autograd as torch

cell = torch.nn.RNNCell(2, 3)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
for length in range(1, 9):
    hidden = torch.zeros(1, 3)
    for t in range(length):
        hidden = cell(torch.randn(1, 2), hidden)
    optimizer.zero_grad()
    hidden.sum().backward()
    optimizer.step()
