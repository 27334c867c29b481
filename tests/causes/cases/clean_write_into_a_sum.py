# clean
# A sum saves nothing: its result may be overwritten.
import secondpass.autograd as torch

layer = torch.nn.Linear(3, 4)
for step in range(3):
    h = layer(torch.randn(5, 3)) + 1
    h[:, 0] = 0
    h += 2
    h.sum().backward()
    layer.zero_grad()
