# swallowed-error: codes
import secondpass.autograd as torch

encode, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encode.parameters(), *head.parameters()], lr=0.1)
codes = torch.tanh(encode(torch.randn(6, 4)))  #! built
for step in range(5):
    loss = (head(codes) ** 2).mean()
    optimizer.zero_grad()
    try:
        loss.backward()  #! freed failed
    except RuntimeError as error:
        assert "second time" in str(error)
        optimizer.zero_grad()
    optimizer.step()
