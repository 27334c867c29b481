import torch
import torch.nn.functional as F

import lora
from base_model import TinyLM

CONFIG = dict(vocab_size=16, dim=20, depth=2, max_len=10)
PRETRAIN_STEPS, TUNE_STEPS, KL_WEIGHT = 14, 18, 0.05


def make_sequences(generator, stride, count=16, length=11):
    start = torch.randint(0, 16, (count, 1), generator=generator)
    return (start + stride * torch.arange(length)) % 16


def pretrain(model, generator):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(PRETRAIN_STEPS):
        tokens = make_sequences(generator, stride=1)
        loss = F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretrained: loss {loss.item():.4f}")


def finetune(model, generator):
    params = [p for m in lora.adapters(model) for p in (m.lora_A, m.lora_B)]
    optimizer = torch.optim.AdamW(params, lr=2e-2, weight_decay=0.0)
    history = []
    for step in range(TUNE_STEPS):
        tokens = make_sequences(generator, stride=3)
        inputs, labels = tokens[:, :-1], tokens[:, 1:]
        with torch.no_grad(), lora.adapters_disabled(model):
            base_log_probs = F.log_softmax(model(inputs), dim=-1)
        logits = model(inputs)
        task = F.cross_entropy(logits.transpose(1, 2), labels)
        log_probs = F.log_softmax(logits, dim=-1).flatten(0, 1)
        kl = F.kl_div(log_probs, base_log_probs.flatten(0, 1), log_target=True, reduction="batchmean")
        optimizer.zero_grad()
        (task + KL_WEIGHT * kl).backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        history.append({"task": task.item(), "kl": kl.item(), "grad": grad_norm.item()})
    print("tuned:", ", ".join(f"{k} {v:.4f}" for k, v in history[-1].items()))


if __name__ == "__main__":
    torch.manual_seed(7)
    gen = torch.Generator().manual_seed(70)
    model = TinyLM(**CONFIG)
    pretrain(model, gen)
    model.zero_grad(set_to_none=True)
    lora.inject(model)
    finetune(model, gen)
    with torch.no_grad():
        tokens = make_sequences(gen, stride=3, count=32)
        hits = (model(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]).float().mean().item()
    base_sum = sum(p.abs().sum().item() for n, p in model.named_parameters() if "lora_" not in n)
    lora_sum = sum(p.abs().sum().item() for n, p in model.named_parameters() if "lora_" in n)
    print("RESULT %.6g %.6g %.6g" % (base_sum, lora_sum, hits))
