# carried-state: state
import secondpass.autograd as torch

mix, read = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*mix.parameters(), *read.parameters()], lr=0.1)


def update(state, x):
    state = torch.tanh(mix(x) + state)  #! built
    loss = (read(state) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()  #! freed failed
    optimizer.step()
    return state


state = torch.zeros(2, 4)
for step in range(3):
    state = update(state, torch.randn(2, 4))
