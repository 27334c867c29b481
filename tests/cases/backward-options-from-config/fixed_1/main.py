import torch

from config import CONFIG
from ppo import Agent, collect


def main():
    torch.manual_seed(CONFIG["seed"])
    agent = Agent(obs=5, actions=3, cfg=CONFIG)
    scores = []
    for update in range(CONFIG["updates"]):
        rollout = collect(agent, CONFIG["horizon"])
        agent.learn(rollout)
        scores.append(rollout.rewards.mean().item())
    print(f"RESULT {scores[0]:.5f} {sum(scores[-3:]) / 3:.5f}")


if __name__ == "__main__":
    main()
