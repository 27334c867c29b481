import copy
import math
import torch


def short_horizon_actor_critic(n_updates=16, horizon=6, n_envs=12, gamma=0.9):
    """Differentiable cart-pole; actor trained through the simulator over short windows
    closed by a learned value, critic trained on TD(lambda)-like targets."""

    def make_networks():
        def mlp(out, squash):
            layers = [torch.nn.Linear(5, 24), torch.nn.ELU(), torch.nn.Linear(24, out)]
            return torch.nn.Sequential(*(layers + [torch.nn.Tanh()] if squash else layers))

        actor, critic = mlp(1, True), mlp(1, False)
        return actor, critic, copy.deepcopy(critic).requires_grad_(False)

    def make_simulator():
        dt, m_cart, m_pole, length, g = 0.04, 1.0, 0.1, 0.5, 9.8

        def observe(s):
            x, v, th, om = s.unbind(-1)
            return torch.stack([x, v, th.cos(), th.sin(), om], -1)

        def acceleration(s, force):
            x, v, th, om = s.unbind(-1)
            total = m_cart + m_pole

            def pole():
                tmp = (force + m_pole * length * om ** 2 * th.sin()) / total
                return (g * th.sin() - th.cos() * tmp) / (length * (4 / 3 - m_pole * th.cos() ** 2 / total)), tmp

            alpha, tmp = pole()
            return tmp - m_pole * length * alpha * th.cos() / total, alpha

        def advance(s, u):
            x, v, th, om = s.unbind(-1)
            a, alpha = acceleration(s, 8.0 * u)
            v, om = v + dt * a, om + dt * alpha
            return torch.stack([x + dt * v, v, th + dt * om, om], -1)

        def cost(s, u):
            x, v, th, om = s.unbind(-1)
            return (1 - th.cos()) * 4 + 0.1 * x ** 2 + 0.01 * om ** 2 + 0.01 * u ** 2

        def restart(n):
            return torch.randn(n, 4) * torch.tensor([0.2, 0.1, 0.15, 0.1])

        return observe, advance, cost, restart

    actor, critic, slow_critic = make_networks()
    observe, advance, cost, restart = make_simulator()
    actor_opt = torch.optim.Adam(actor.parameters(), lr=2e-2)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=2e-2)

    def window(s):
        def value_of(s):
            return slow_critic(observe(s)).squeeze(-1)

        observations, costs = [], []
        for _ in range(horizon):
            o = observe(s)
            u = actor(o).squeeze(-1)
            observations.append(o.detach())
            costs.append(cost(s, u))
            s = advance(s, u)
        tail = value_of(s)
        objective = sum(gamma ** k * c for k, c in enumerate(costs)) + gamma ** horizon * tail

        def targets():
            with torch.no_grad():
                back, out = tail, []
                for c in reversed(costs):
                    back = c + gamma * back
                    out.append(back)
            return torch.stack(out[::-1])

        return objective.mean(), s.detach(), torch.stack(observations), targets()

    def improve_critic(observations, targets, sweeps=2):
        def one():
            loss = (critic(observations).squeeze(-1) - targets).pow(2).mean()
            critic_opt.zero_grad()
            loss.backward()
            critic_opt.step()
            return loss.item()

        return [one() for _ in range(sweeps)][-1]

    def track(rate=0.2):
        with torch.no_grad():
            for slow, fast in zip(slow_critic.parameters(), critic.parameters()):
                slow.mul_(1 - rate).add_(fast, alpha=rate)

    def reset_fallen(s):
        fallen = (s[:, 2].abs() > math.pi / 5) | (s[:, 0].abs() > 3)
        return torch.where(fallen[:, None], restart(len(s)), s)

    s, curve = restart(n_envs), []
    for update in range(n_updates):
        objective, s, observations, targets = window(s)
        actor_opt.zero_grad()
        objective.backward()
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        actor_opt.step()
        value_error = improve_critic(observations, targets)
        track()
        s = reset_fallen(s)
        curve.append((objective.item(), value_error))
        if update % 4 == 3:
            print(f"{update + 1:2d}: cost-to-go {curve[-1][0]:.4f}  value error {value_error:.4f}")

    def weigh(net):
        return sum(p.detach().abs().sum().item() for p in net.parameters())

    return weigh(actor), weigh(critic), weigh(slow_critic), *curve[-1]


if __name__ == "__main__":
    torch.manual_seed(64)
    print("RESULT " + " ".join(f"{v:.6g}" for v in short_horizon_actor_critic()))
