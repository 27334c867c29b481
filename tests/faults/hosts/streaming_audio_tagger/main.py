import torch
import torch.nn.functional as F

import synth
from tagger import StreamingTagger, cut

CFG = dict(batch=6, seconds=1.2, hop=80, epochs=3, lr=8e-3, pos_weight=1.5, seed=9)


def frame_labels(lab, stride):
    return lab[..., stride - 1::stride]


def evaluate(model, seed):
    model.eval()
    state, hits, n = model.init_state(CFG["batch"]), 0.0, 0
    with torch.inference_mode():
        for wave, lab in synth.stream(CFG["batch"], 0.6, CFG["hop"], seed):
            logits, state = model(wave, state)
            hits += ((logits > 0) == (frame_labels(lab, model.stride) > 0.5)).sum().item()
            n += logits.numel()
    model.train()
    return hits / n


torch.manual_seed(CFG["seed"])
model = StreamingTagger(len(synth.TAGS))
opt = torch.optim.NAdam(model.parameters(), lr=CFG["lr"])
pos = torch.full((len(synth.TAGS), 1), CFG["pos_weight"])

step = 0
for epoch in range(CFG["epochs"]):
    state = model.init_state(CFG["batch"])
    per_tag = torch.zeros(len(synth.TAGS))
    for wave, lab in synth.stream(CFG["batch"], CFG["seconds"], CFG["hop"], seed=100 + epoch):
        logits, state = model(wave, cut(state))
        bce = F.binary_cross_entropy_with_logits(
            logits, frame_labels(lab, model.stride), pos_weight=pos, reduction="none")
        smooth = (logits[..., 1:] - logits[..., :-1]).pow(2).mean()
        loss = bce.mean() + 0.01 * smooth
        loss.backward()
        opt.step()
        opt.zero_grad()
        per_tag += bce.detach().mean(dim=(0, 2))
        step += 1
    acc = evaluate(model, seed=999)
    summary = "  ".join(f"{t}={v:.2f}" for t, v in zip(synth.TAGS, per_tag.tolist()))
    print(f"epoch {epoch} steps {step}  {summary}  acc {acc:.3f}")

w = {n: m for n, m in model.named_children()}
print("RESULT", *("%.6g" % sum(p.abs().sum().item() for p in m.parameters()) for m in w.values()), "%.6g" % loss.item())
