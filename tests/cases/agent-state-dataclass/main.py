import torch
import torch.nn.functional as F

from agent import Agent


def world(t, envs, g):
    obs = {name: torch.randn(3, generator=g) + 0.1 * t * i for i, name in enumerate(envs)}
    return obs, {name: int(o[0] > o[1]) for name, o in obs.items()}


def main(updates=6, window=5):
    torch.manual_seed(122)
    g = torch.Generator().manual_seed(7)
    envs = ["red", "green", "blue"]
    agent = Agent(envs, window)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
    for u in range(updates):
        losses = []
        for t in range(window):
            obs, best = world(t, envs, g)
            logits = agent(obs)
            losses += [F.cross_entropy(logits[n], torch.tensor([best[n]])) for n in envs]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g} {agent.act.weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    main()
