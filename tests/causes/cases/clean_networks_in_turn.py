# clean
import secondpass.autograd as torch

make, judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
makes = torch.optim.Adam(make.parameters())
judges = torch.optim.Adam(judge.parameters())
for step in range(4):
    fake = torch.tanh(make(torch.randn(6, 2)))
    judges.zero_grad()
    (judge(fake.detach()).mean() - judge(torch.randn(6, 4)).mean()).backward()
    judges.step()
    makes.zero_grad()
    (-judge(fake)).mean().backward()
    makes.step()
