# clean
import secondpass.autograd as torch

body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
for p in body.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(4):
    loss = (head(torch.tanh(body(torch.randn(5, 3)))) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
