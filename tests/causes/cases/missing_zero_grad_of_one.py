# missing-zero-grad
import secondpass.autograd as torch

body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
slow = torch.optim.SGD(body.parameters(), lr=0.01)
fast = torch.optim.Adam(head.parameters())
for step in range(6):
    loss = (head(torch.tanh(body(torch.randn(5, 3)))) ** 2).mean()
    fast.zero_grad()
    loss.backward()  #! failed
    slow.step()
    fast.step()
