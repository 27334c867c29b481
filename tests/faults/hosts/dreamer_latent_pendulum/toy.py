import torch


def experience(n, length, seed):
    """endless chunks (obs, action, reward) of n damped pendulums under a random-walk torque"""
    g = torch.Generator().manual_seed(seed)
    xs = torch.linspace(-1.2, 1.2, 8)
    theta, omega, torque = 3 * (torch.rand(n, generator=g) - 0.5), torch.zeros(n), torch.zeros(n, 1)
    while True:
        obs, act, rew = [], [], []
        for _ in range(length):
            torque = (0.7 * torque + 0.6 * torch.randn(n, 1, generator=g)).clamp(-1, 1)
            omega = 0.95 * omega - 0.3 * theta.sin() + 0.3 * torque.squeeze(1)
            theta = theta + 0.3 * omega
            act.append(torque)
            obs.append(torch.exp(-((xs - theta.sin().unsqueeze(1)) ** 2) * 8))
            rew.append(-(theta.sin() - 0.5) ** 2)
        yield torch.stack(obs), torch.stack(act), torch.stack(rew)
