# inplace-change: boxes
import secondpass.autograd as torch

layer = torch.nn.Linear(3, 4)
for step in range(2):
    boxes = torch.exp(layer(torch.randn(5, 3)))  #! built
    boxes[:, :2] += 1.0  #! freed
    loss = (boxes[:, 2:] ** 2).sum()
    loss.backward()  #! failed
