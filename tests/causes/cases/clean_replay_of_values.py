# clean
import secondpass.autograd as torch

embed, score = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(score.parameters(), lr=0.1)
with torch.no_grad():
    memory = [torch.tanh(embed(x)) for x in torch.randn(5, 1, 3)]
for step in range(8):
    loss = (score(memory[step % 5]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
