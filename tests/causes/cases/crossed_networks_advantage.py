# crossed-networks: value advantage
import secondpass.autograd as torch

actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
act = torch.optim.Adam(actor.parameters())
judge = torch.optim.Adam(critic.parameters())
for step in range(3):
    states, returns = torch.randn(5, 3), torch.randn(5)
    value = torch.tanh(critic(states)).squeeze(1)  #! built
    advantage = returns - value  #! built
    actor_loss = -(torch.log_softmax(actor(states), 1)[:, 0] * advantage).mean()
    critic_loss = (advantage**2).mean()
    act.zero_grad()
    actor_loss.backward()  #! freed
    act.step()
    judge.zero_grad()
    critic_loss.backward()  #! failed
    judge.step()
