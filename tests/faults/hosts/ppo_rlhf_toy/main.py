"""Toy RLHF: fit a reward model on preference pairs, then PPO against it with a KL leash."""
import copy
from types import SimpleNamespace

import torch
from torch.distributions import Categorical

from nets import ActorCritic, RewardModel
from rollout import collect


def fit_reward_model(rm, args, gen):
    opt = torch.optim.Adam(rm.parameters(), lr=3e-2)
    for it in range(args.rm_steps):
        a = torch.randint(0, args.vocab, (32, args.length), generator=gen)
        b = torch.randint(0, args.vocab, (32, args.length), generator=gen)
        a_better = (a.sum(1) >= b.sum(1))[:, None]
        margin = rm(torch.where(a_better, a, b)) - rm(torch.where(a_better, b, a))
        loss = -torch.nn.functional.logsigmoid(margin).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def ppo_loss(policy, minibatch, args):
    ctx, act, old_lp, adv, ret = minibatch
    logits, values, _ = policy(ctx)
    dist = Categorical(logits=logits)
    ratio = (dist.log_prob(act) - old_lp).exp()
    clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
    pg = -torch.min(ratio * adv, clipped * adv).mean()
    vf = (values - ret).pow(2).mean()
    ent = dist.entropy().mean()
    return pg + args.vf_coef * vf - args.ent_coef * ent, pg, vf, ent


def main(args):
    torch.manual_seed(31)
    gen = torch.Generator().manual_seed(13)
    rm = RewardModel(args.vocab, args.width)
    rm_loss = fit_reward_model(rm, args, gen)
    rm.requires_grad_(False)

    policy = ActorCritic(args.vocab, args.width)
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.AdamW(policy.parameters(), lr=8e-3)
    for it in range(args.iterations):
        roll = collect(policy, reference, rm, 48, args.length, args.kl_coef)
        stats = []
        for _ in range(args.ppo_epochs):
            for mb in roll.minibatches(24, gen):
                loss, pg, vf, ent = ppo_loss(policy, mb, args)
                opt.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
                opt.step()
                stats.append([t.item() for t in (loss, pg, vf, ent)])
        mean = [sum(c) / len(c) for c in zip(*stats)]
        print(f"iter {it} score {roll.mean_score:+.3f} kl {roll.mean_kl:.3f} vf {mean[2]:.3f} entropy {mean[3]:.3f}")
    final = collect(policy, reference, rm, 48, args.length, args.kl_coef)
    norm = lambda m: sum(p.abs().sum().item() for p in m.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (norm(policy), norm(rm), rm_loss, final.mean_score))


if __name__ == "__main__":
    main(SimpleNamespace(vocab=10, width=24, length=7, rm_steps=14, iterations=5, ppo_epochs=2,
                         clip=0.2, vf_coef=0.5, ent_coef=0.01, kl_coef=0.05))
