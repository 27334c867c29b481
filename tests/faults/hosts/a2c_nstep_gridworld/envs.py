import numpy as np

MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])


class GridWorld:
    """5x5 grid, one pit, one goal. Observation: agent and goal coordinates scaled to [-1, 1]."""

    def __init__(self, rng, size=5, horizon=20):
        self.rng, self.size, self.horizon, self.pit = rng, size, horizon, np.array([size // 2] * 2)

    def reset(self):
        self.t, self.agent = 0, np.array([0, 0])
        while True:
            self.goal = self.rng.integers(0, self.size, 2)
            if (self.goal != self.agent).any() and (self.goal != self.pit).any():
                return self._obs()

    def step(self, action):
        self.t += 1
        before = np.abs(self.agent - self.goal).sum()
        self.agent = np.clip(self.agent + MOVES[action], 0, self.size - 1)
        after = np.abs(self.agent - self.goal).sum()
        if (self.agent == self.goal).all():
            return self._obs(), 1.0, True
        if (self.agent == self.pit).all():
            return self._obs(), -1.0, True
        return self._obs(), 0.1 * float(before - after), self.t >= self.horizon

    def _obs(self):
        return np.concatenate([self.agent, self.goal]).astype(np.float32) / (self.size - 1) * 2 - 1


class VectorEnv:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.envs = [GridWorld(rng) for _ in range(n)]
        self.episode_return, self.finished = np.zeros(n), []

    def reset(self):
        return np.stack([e.reset() for e in self.envs])

    def step(self, actions):
        obs, rew, done = [], [], []
        for i, (env, a) in enumerate(zip(self.envs, actions)):
            o, r, d = env.step(a)
            self.episode_return[i] += r
            if d:
                self.finished.append(self.episode_return[i])
                self.episode_return[i] = 0
                o = env.reset()
            obs.append(o), rew.append(r), done.append(d)
        return np.stack(obs), np.array(rew, dtype=np.float32), np.array(done)
