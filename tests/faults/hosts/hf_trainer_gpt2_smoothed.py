"""Causal LM from scratch with the HF Trainer: random GPT-2 config, custom loss, custom callback."""
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import tempfile

import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging as hf_logging

hf_logging.set_verbosity_error()


class BracketDataset(Dataset):
    """Balanced bracket strings padded to a fixed length. 0 pad, 1/2 open, 3/4 close, 5 end."""

    def __init__(self, size, length, seed):
        generator = torch.Generator().manual_seed(seed)
        self.rows = []
        while len(self.rows) < size:
            row, stack = [], []
            for draw in torch.rand(length, generator=generator).tolist():
                if len(row) + len(stack) >= length - 1:
                    break
                if stack and draw < 0.45:
                    row.append(stack.pop() + 2)
                else:
                    stack.append(1 if draw > 0.7 else 2)
                    row.append(stack[-1])
            row = row[: length - 1] + [b + 2 for b in reversed(stack)]
            row = (row[: length - 1] + [5])
            self.rows.append(torch.tensor(row + [0] * (length - len(row))))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        ids = self.rows[index]
        return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": ids.masked_fill(ids == 0, -100)}


class SmoothedTrainer(Trainer):
    def __init__(self, *args, smoothing=0.05, z_weight=1e-3, **kwargs):
        super().__init__(*args, **kwargs)
        self.smoothing = smoothing
        self.z_weight = z_weight
        self.nll_history = []

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits, targets = outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        nll = F.cross_entropy(logits, targets, ignore_index=-100)
        smooth = F.cross_entropy(logits, targets, ignore_index=-100, label_smoothing=self.smoothing)
        z = logits.logsumexp(-1)[targets != -100].pow(2).mean()
        if model.training:
            self.nll_history.append(nll.item())
        loss = smooth + self.z_weight * z
        return (loss, outputs) if return_outputs else loss


class WeightDrift(TrainerCallback):
    """How far the weights have walked from their initial values."""

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self.start = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.drift = []

    def on_step_end(self, args, state, control, model=None, **kwargs):
        with torch.no_grad():
            self.drift.append(sum((p - self.start[n]).pow(2).sum() for n, p in model.named_parameters()).sqrt().item())

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            print(f"step {state.global_step:2d} loss {logs['loss']:.4f} drift {self.drift[-1]:.4f}")


def main():
    set_seed(19)
    config = GPT2Config(vocab_size=6, n_positions=16, n_embd=24, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0, bos_token_id=5, eos_token_id=5, use_cache=False)
    model = GPT2LMHeadModel(config)
    drift = WeightDrift()
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out, max_steps=20, per_device_train_batch_size=12, learning_rate=8e-3, warmup_steps=3,
            lr_scheduler_type="cosine", logging_steps=5, save_strategy="no", report_to="none", use_cpu=True,
            disable_tqdm=True, seed=19, max_grad_norm=1.0,
        )
        trainer = SmoothedTrainer(model=model, args=args, train_dataset=BracketDataset(96, 16, 1),
                                  eval_dataset=BracketDataset(32, 16, 2), callbacks=[drift])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        eval_loss = trainer.evaluate()["eval_loss"]
    print(f"eval loss {eval_loss:.4f}")
    total = sum(p.abs().sum().item() for p in model.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (total, drift.drift[-1], trainer.nll_history[-1], eval_loss))


if __name__ == "__main__":
    main()
