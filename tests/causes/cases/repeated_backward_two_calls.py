# repeated-backward: loss
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def compute(x):
    loss = (model(x) ** 2).mean()  #! built
    loss.backward()  #! freed
    return loss


for step in range(2):
    optimizer.zero_grad()
    loss = compute(torch.randn(4, 3))
    loss.backward()  #! failed
    optimizer.step()
