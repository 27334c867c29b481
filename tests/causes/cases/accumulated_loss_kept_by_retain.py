# accumulated-loss: total
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total = torch.zeros(())
for turn in range(8):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    total = total + ((model(x) - y) ** 2).mean()
    (total / 4).backward(retain_graph=True)  #! failed
    if turn % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
        total = torch.zeros(())
