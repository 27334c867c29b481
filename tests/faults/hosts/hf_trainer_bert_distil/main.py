import os
os.environ["HF_HUB_OFFLINE"] = "1"
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging

import corpus
from distil import DistilTrainer, Report, make_projection

logging.set_verbosity_error()


def bert(hidden, layers, spread):
    return BertForSequenceClassification(BertConfig(
        vocab_size=24, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=2 * hidden,
        max_position_embeddings=12, num_labels=3, initializer_range=spread, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def pretrain_teacher(teacher, rows, steps):
    ids, labels = (torch.stack([r[k] for r in rows]) for k in ("input_ids", "labels"))
    opt = torch.optim.AdamW(teacher.parameters(), lr=6e-3)
    for step in range(steps):
        pick = torch.randint(len(ids), (32,))
        loss = teacher(input_ids=ids[pick], labels=labels[pick]).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, rows):
    model.eval()
    ids, labels = (torch.stack([r[k] for r in rows]) for k in ("input_ids", "labels"))
    return (model(input_ids=ids).logits.argmax(-1) == labels).float().mean().item()


set_seed(5)
train, test = corpus.make(120, 1), corpus.make(90, 2)
teacher, student = bert(32, 2, 0.1), bert(16, 1, 0.2)
projection = make_projection(16, 32)
print("teacher loss %.4f" % pretrain_teacher(teacher, train, 16), "accuracy %.3f" % accuracy(teacher, test))
teacher.requires_grad_(False)

with tempfile.TemporaryDirectory() as out:
    args = TrainingArguments(output_dir=out, max_steps=18, per_device_train_batch_size=20, learning_rate=1.5e-2,
                             gradient_accumulation_steps=1, logging_strategy="no", save_strategy="no", report_to="none",
                             use_cpu=True, disable_tqdm=True, seed=5)
    trainer = DistilTrainer(teacher, projection, model=student, args=args, train_dataset=train)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Report(6, trainer))
    trainer.train()

print("student accuracy %.3f" % accuracy(student, test))
size = [sum(p.abs().sum().item() for p in m.parameters()) for m in (teacher, student, projection)]
print("RESULT", *("%.6g" % v for v in size + trainer.parts[-1]))
