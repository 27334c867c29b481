"""Plain PyTorch loop over a tiny BertModel: word embeddings are perturbed along the loss gradient (FGM / VAT)."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

from typing import Iterator, Tuple

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from transformers import BertConfig, BertModel, get_linear_schedule_with_warmup

transformers.logging.set_verbosity_error()

EPSILON = 0.1
XI = 0.1
VAT_WEIGHT = 0.3
TOTAL_STEPS = 20


class ReviewScorer(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.scorer = nn.Linear(config.hidden_size, 2)

    def embed(self, ids: Tensor) -> Tensor:
        return self.bert.embeddings.word_embeddings(ids)

    def forward(self, embedded: Tensor) -> Tensor:
        hidden = self.bert(inputs_embeds=embedded).last_hidden_state
        return self.scorer(hidden[:, 0])


def review_batches(size: int, generator: torch.Generator) -> Iterator[Tuple[Tensor, Tensor]]:
    """Tokens 2..8 praise, 9..15 complain, the others are filler; token 1 opens every review."""
    while True:
        label = torch.randint(0, 2, (size,), generator=generator)
        opinion = 2 + 7 * (1 - label[:, None]) + torch.randint(0, 7, (size, 10), generator=generator)
        filler = torch.randint(2, 30, (size, 10), generator=generator)
        body = torch.where(torch.rand(size, 10, generator=generator) < 0.6, opinion, filler)
        yield torch.cat([torch.ones(size, 1, dtype=torch.long), body], 1), label


def unit(direction: Tensor) -> Tensor:
    return direction / (direction.flatten(1).norm(dim=1)[:, None, None] + 1e-8)


def kl(p_logits: Tensor, q_logits: Tensor) -> Tensor:
    return F.kl_div(q_logits.log_softmax(-1), p_logits.softmax(-1), reduction="batchmean")


def virtual_direction(model: ReviewScorer, embedded: Tensor, clean: Tensor) -> Tensor:
    d = (XI * unit(torch.randn_like(embedded))).requires_grad_()
    (gradient,) = torch.autograd.grad(kl(clean, model(embedded + d)), d)
    return EPSILON * unit(gradient)


def train_step(model, optimizer, scheduler, ids, labels) -> dict:
    embedded = model.embed(ids)
    clean_logits = model(embedded)
    clean_loss = F.cross_entropy(clean_logits, labels)

    # fast gradient direction of the supervised loss with respect to the embeddings
    (gradient,) = torch.autograd.grad(clean_loss, embedded, retain_graph=True)
    adversarial_loss = F.cross_entropy(model(embedded + EPSILON * unit(gradient)), labels)

    target = clean_logits.detach()
    delta = virtual_direction(model, embedded.detach(), target)
    smoothness = kl(target, model(embedded + delta))

    optimizer.zero_grad()
    (clean_loss + adversarial_loss + VAT_WEIGHT * smoothness).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    return {"clean": clean_loss.item(), "adversarial": adversarial_loss.item(), "smoothness": smoothness.item()}


@torch.inference_mode()
def accuracy(model, batches, count: int) -> float:
    model.eval()
    hits = [(model(model.embed(i)).argmax(-1) == y).float().mean().item() for (i, y), _ in zip(batches, range(count))]
    model.train()
    return sum(hits) / count


def main() -> None:
    transformers.set_seed(250)
    config = BertConfig(vocab_size=30, hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=48,
                        max_position_embeddings=11, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1)
    model = ReviewScorer(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 3, TOTAL_STEPS + 5)
    batches = review_batches(24, torch.Generator().manual_seed(251))
    for step, batch in zip(range(TOTAL_STEPS), batches):
        metrics = train_step(model, optimizer, scheduler, *batch)
        if step % 5 == 4:
            print(step, {k: round(v, 4) for k, v in metrics.items()})
    score = accuracy(model, batches, 4)
    weights = [sum(p.abs().sum().item() for p in m.parameters()) for m in (model.bert, model.scorer)]
    print("RESULT {:.6g} {:.6g} {:.6g} {:.6g}".format(*weights, metrics["clean"], score))


if __name__ == "__main__":
    main()
