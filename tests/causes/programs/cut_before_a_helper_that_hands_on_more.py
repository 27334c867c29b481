# lost-history: value
import torch


def send(root, *more, **options):
    root.backward(*more, **options)  #! failed


model, critic = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
x = torch.randn(4, 3)
value = critic(x)
loss = ((model(x) - value.detach()) ** 2).mean()
critic_loss = (value.detach() ** 2).mean()  #! built
send(loss)
send(critic_loss)
