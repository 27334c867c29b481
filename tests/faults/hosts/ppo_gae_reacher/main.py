import torch
from torch import nn
from torch.distributions import Normal

from arm import ArmBatch
from rollout import collect


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, act_dim))
        self.log_std = nn.Parameter(-0.5 * torch.ones(act_dim))

    def forward(self, obs):
        return Normal(self.mu(obs), self.log_std.exp())


class Critic(nn.Sequential):
    def __init__(self, obs_dim):
        super().__init__(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return super().forward(obs).squeeze(-1)


def ppo_update(rollout, actor, critic, opt, epochs=2, mb=48, clip=0.2, target_kl=0.1):
    stats = {"pi": [], "v": [], "kl": []}
    for _ in range(epochs):
        for b in rollout.minibatches(mb):
            dist = actor(b.obs)
            logp = dist.log_prob(b.act).sum(-1)
            ratio = (logp - b.logp).exp()
            surrogate = torch.min(ratio * b.adv, ratio.clamp(1 - clip, 1 + clip) * b.adv)
            pi_loss = -surrogate.mean()
            v_loss = 0.5 * (critic(b.obs) - b.ret).pow(2).mean()
            entropy = dist.entropy().sum(-1).mean()
            opt.zero_grad()
            (pi_loss + 0.5 * v_loss - 0.001 * entropy).backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
            opt.step()
            stats["pi"].append(pi_loss.item())
            stats["v"].append(v_loss.item())
            stats["kl"].append((b.logp - logp).mean().item())
        if stats["kl"][-1] > target_kl:
            break
    return {k: sum(v) / len(v) for k, v in stats.items()}


if __name__ == "__main__":
    torch.manual_seed(55)
    env = ArmBatch(12, generator=torch.Generator().manual_seed(56))
    actor, critic = Actor(env.obs_dim, env.act_dim), Critic(env.obs_dim)
    opt = torch.optim.Adam([{"params": actor.parameters(), "lr": 1e-2}, {"params": critic.parameters(), "lr": 2e-2}])
    for iteration in range(6):
        rollout, score = collect(env, actor, critic)
        s = ppo_update(rollout, actor, critic, opt)
        print(f"iter {iteration}  return {score:8.3f}  pi {s['pi']:+.4f}  v {s['v']:8.4f}  kl {s['kl']:+.5f}")
    l1 = [sum(p.abs().sum().item() for p in m.parameters()) for m in (actor, critic)]
    print("RESULT %.6g %.6g %.6g %.6g" % (*l1, s["v"], score))
