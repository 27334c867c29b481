import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2024)
V, D, PROMPT, RESP = 14, 24, 4, 6
BETA = 0.3


class GRULM(nn.Module):
    """a causal LM; small enough that recurrence is cheaper than attention"""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.rnn = nn.GRU(D, D, batch_first=True)
        self.out = nn.Linear(D, V)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def sequence_logps(lm, prompt, resp):
    ids = torch.cat([prompt, resp], dim=1)
    lp = F.log_softmax(lm(ids[:, :-1]), dim=-1)
    tok = lp.gather(-1, ids[:, 1:, None]).squeeze(-1)
    return tok[:, prompt.shape[1] - 1:].sum(-1)


def make_pairs(n, g):
    """chosen: count upwards from the last prompt token; rejected: same, with noise tokens"""
    prompt = torch.randint(0, V, (n, PROMPT), generator=g)
    chosen = (prompt[:, -1:] + torch.arange(1, RESP + 1)) % V
    noise = torch.randint(0, V, (n, RESP), generator=g)
    flip = torch.rand(n, RESP, generator=g) < 0.6
    rejected = torch.where(flip, noise, chosen)
    return prompt, chosen, rejected


g = torch.Generator().manual_seed(5)
train = make_pairs(96, g)
test = make_pairs(48, g)

# ---- supervised warm start on a mixture of good and bad answers
policy = GRULM()
sft_opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for i in range(12):
    rows = torch.randint(0, 96, (24,), generator=g)
    p, c, r = (t[rows] for t in train)
    nll = -(sequence_logps(policy, p, c) + sequence_logps(policy, p, r)).mean() / (2 * RESP)
    sft_opt.zero_grad()
    nll.backward()
    sft_opt.step()
print(f"sft nll {nll.item():.4f}")

# ---- preference tuning
ref = copy.deepcopy(policy).eval()
for q in ref.parameters():
    q.requires_grad_(False)

opt = torch.optim.RMSprop(policy.parameters(), lr=1.5e-3)
log = {"loss": [], "margin": [], "acc": []}
order = torch.randperm(96, generator=g)

for epoch in range(4):
    for rows in order.split(24):
        p, c, r = (t[rows] for t in train)
        pi_c, pi_r = sequence_logps(policy, p, c), sequence_logps(policy, p, r)
        with torch.no_grad():
            ref_c, ref_r = sequence_logps(ref, p, c), sequence_logps(ref, p, r)

        reward_c = BETA * (pi_c - ref_c)
        reward_r = BETA * (pi_r - ref_r)
        loss = -F.logsigmoid(reward_c - reward_r).mean()

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 5.0)
        opt.step()

        margin = (reward_c - reward_r).detach()
        log["loss"].append(loss.item())
        log["margin"].append(margin.mean().item())
        log["acc"].append((margin > 0).float().mean().item())
    k = len(log["loss"])
    print("epoch %d " % epoch + " ".join("%s %.4f" % (n, sum(v[k - 4:]) / 4) for n, v in log.items()))

policy.eval()
with torch.no_grad():
    p, c, r = test
    gap = sequence_logps(policy, p, c) - sequence_logps(policy, p, r)
    ref_gap = sequence_logps(ref, p, c) - sequence_logps(ref, p, r)
    win = (gap > ref_gap).float().mean().item()
print(f"held-out: preference gap {gap.mean().item():.3f} (ref {ref_gap.mean().item():.3f}), wins {win:.3f}")


def size(m):
    return sum(q.abs().sum().item() for q in m.parameters())


print("RESULT %.6g %.6g %.6g %.6g" % (size(policy), size(ref), log["loss"][-1], gap.mean().item()))
