# silent-reuse: trail
import secondpass.autograd as torch

point = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD([point], lr=0.1)
trail = torch.zeros(1, 2)
for step in range(7):
    trail = torch.cat([trail, (point + torch.randn(2)).unsqueeze(0)])  #! built
    optimizer.zero_grad()
    trail.mean(0).sum().backward()  #! freed failed
    optimizer.step()
