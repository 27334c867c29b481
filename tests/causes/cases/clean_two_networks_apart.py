# clean
# Two networks that exchange nothing share nothing: no flag, no detach is needed.
import secondpass.autograd as torch

first, second = torch.nn.Linear(10, 5), torch.nn.Linear(5, 2)
first(torch.randn(1, 10)).mean().backward()
second(torch.randn(1, 5)).mean().backward()
