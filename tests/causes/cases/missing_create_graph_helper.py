# missing-create-graph
import secondpass.autograd as torch

net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def forces(energy, positions):
    return -torch.autograd.grad(energy.sum(), positions)[0]  #! freed


for step in range(2):
    positions = torch.randn(4, 2, requires_grad=True)
    energy = net(positions)  #! built
    force = forces(energy, positions)
    loss = (energy**2).mean() + (force**2).mean()
    optimizer.zero_grad()
    loss.backward()  #! failed
    optimizer.step()
