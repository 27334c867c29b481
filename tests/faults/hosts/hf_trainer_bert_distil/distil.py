import torch
import torch.nn.functional as F
from torch import nn
from transformers import Trainer, TrainerCallback


class DistilTrainer(Trainer):
    def __init__(self, teacher, projection, temperature=2.0, weights=(1.0, 0.5, 0.2), **kw):
        super().__init__(**kw)
        self.teacher = teacher.eval()
        self.projection = projection
        self.temperature = temperature
        self.weights = weights
        self.parts = []

    def create_optimizer(self, model=None):
        groups = [{"params": list(self.model.parameters())},
                  {"params": list(self.projection.parameters()), "lr": 0.5 * self.args.learning_rate}]
        self.optimizer = torch.optim.AdamW(groups, lr=self.args.learning_rate, weight_decay=0.01)
        return self.optimizer

    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        out = model(**inputs, output_hidden_states=True)
        with torch.no_grad():
            ref = self.teacher(input_ids=inputs["input_ids"], output_hidden_states=True)
        T = self.temperature
        soft = F.kl_div((out.logits / T).log_softmax(-1), (ref.logits / T).softmax(-1), reduction="batchmean") * T ** 2
        match = 1 - F.cosine_similarity(self.projection(out.hidden_states[-1]), ref.hidden_states[-1], dim=-1).mean()
        terms = (soft, out.loss, match)
        loss = sum(w * t for w, t in zip(self.weights, terms))
        if model.training:
            self.parts.append([t.item() for t in terms])
        return (loss, out) if return_outputs else loss


class Report(TrainerCallback):
    def __init__(self, every, source=None):
        self.every, self.source = every, source

    def on_step_end(self, args, state, control, **kw):
        if state.global_step % self.every == 0:
            print("  %3d  soft %.4f  hard %.4f  match %.4f" % (state.global_step, *self.source.parts[-1]))


def make_projection(small, large):
    layer = nn.Linear(small, large, bias=False)
    nn.init.orthogonal_(layer.weight)
    return layer
