import numpy as np
import torch

from sac_agent import Agent


class PointMass:
    """Push a point to the origin."""

    def __init__(self, horizon=20, seed=3):
        self.horizon = horizon
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.t = 0
        self.s = self.rng.uniform(-1, 1, size=4).astype(np.float32)
        return self.s

    def step(self, action):
        self.t += 1
        pos = self.s[:2] + 0.1 * self.s[2:]
        vel = 0.9 * self.s[2:] + 0.2 * action
        self.s = np.concatenate([pos, vel]).astype(np.float32)
        return self.s, -float((pos ** 2).sum()), self.t >= self.horizon


if __name__ == "__main__":
    np.random.seed(1)
    torch.manual_seed(1)
    env = PointMass()
    agent = Agent(obs_dim=4, n_actions=2)
    scores = []
    for i in range(4):
        observation, done, score = env.reset(), False, 0.0
        while not done:
            action = agent.choose_action(observation)
            observation_, reward, done = env.step(action)
            agent.remember(observation, action, reward, observation_, done)
            losses = agent.learn()
            score += reward
            observation = observation_
        scores.append(score)
        print("episode", i, "score %.2f" % score, "avg %.2f" % np.mean(scores[-10:]))
    weights = sum(p.abs().sum().item() for p in agent.actor.parameters())
    print("RESULT %.6g %.6g %.6g" % (weights, agent.log_alpha.item(), losses[0]))
