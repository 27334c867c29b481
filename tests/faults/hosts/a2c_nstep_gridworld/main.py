import torch

from agent import A2C, ActorCritic
from envs import VectorEnv

config = {"n_envs": 8, "n_steps": 5, "updates": 40, "seed": 21, "log_every": 10}


def as_tensor(x):
    return torch.as_tensor(x, dtype=torch.float32)


def main(config):
    torch.manual_seed(config["seed"])
    venv = VectorEnv(config["n_envs"], config["seed"])
    agent = A2C(ActorCritic(4, 4))
    obs = as_tensor(venv.reset())
    value_total = 0.0
    for update in range(1, config["updates"] + 1):
        log_probs, values, entropies, rewards, dones = [], [], [], [], []
        for _ in range(config["n_steps"]):
            dist, value = agent.net(obs)
            action = dist.sample()
            next_obs, reward, done = venv.step(action.numpy())
            log_probs.append(dist.log_prob(action))
            values.append(value)
            entropies.append(dist.entropy())
            rewards.append(as_tensor(reward))
            dones.append(as_tensor(done))
            obs = as_tensor(next_obs)
        stats = agent.update(log_probs, values, entropies, rewards, dones, obs)
        value_total += stats["value"]
        if update % config["log_every"] == 0:
            recent = venv.finished[-20:]
            print(f"update {update:3d}  return {sum(recent) / max(1, len(recent)):+.3f}  "
                  + "  ".join(f"{k} {x:+.4f}" for k, x in stats.items()))

    size = sum(p.abs().sum().item() for p in agent.net.parameters())
    print("RESULT %.6g %.6g %.6g %d" % (size, value_total, stats["policy"], len(venv.finished)))


main(config)
