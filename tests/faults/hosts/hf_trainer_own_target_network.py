import os, copy, tempfile
os.environ['HF_HUB_OFFLINE'] = '1'
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import transformers
from transformers import TrainingArguments, Trainer, TrainerCallback

transformers.logging.set_verbosity_error()
transformers.set_seed(1001)
rng = np.random.default_rng(1001)

# tabular rows with missing cells: predict the (slow) representation of the full row
# from the corrupted row, and the price as a second task


class TabularNet(nn.Module):
    def __init__(self, n_cols=9, width=24):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_cols, width), nn.ReLU(), nn.LayerNorm(width), nn.Linear(width, 10))
        self.predictor = nn.Linear(10, 10)
        self.price = nn.Linear(10, 1)
        self.slow = [copy.deepcopy(self.encoder)]       # in a list: not a submodule

    def forward(self, full=None, corrupted=None, labels=None):
        h = self.encoder(corrupted)
        with torch.no_grad():
            goal = F.layer_norm(self.slow[0](full), (10,))
        regress = F.smooth_l1_loss(self.predictor(h), goal)
        price = self.price(h).squeeze(-1)
        price_loss = F.mse_loss(price, labels)
        spread = F.relu(0.5 - h.std(0)).mean()
        return {'loss': price_loss + 0.5 * regress + 0.1 * spread, 'price': price,
                'regress': regress.detach(), 'price_loss': price_loss.detach()}

    @torch.no_grad()
    def follow(self, beta):
        for s, p in zip(self.slow[0].parameters(), self.encoder.parameters()):
            s.mul_(beta).add_(p, alpha=1 - beta)


def rows(n):
    x = rng.normal(size=(n, 9)).astype('float32')
    y = (x[:, 0] * x[:, 1] + x[:, 2] + .5 * np.abs(x[:, 3])).astype('float32')
    hole = rng.random((n, 9)) < .15
    return [dict(full=a, corrupted=np.where(m, 0, a).astype('float32'), labels=b) for a, m, b in zip(x, hole, y)]


class FollowSlowly(TrainerCallback):
    def __init__(self, total, lo=.9, hi=.99):
        self.total, self.lo, self.hi = total, lo, hi
    def on_step_end(self, args, state, control, model=None, **kw):
        model.follow(self.lo + (self.hi - self.lo) * state.global_step / self.total)


class Diary(TrainerCallback):
    def __init__(self):
        self.lines = []
    def on_log(self, args, state, control, logs=None, **kw):
        for key in ('loss', 'eval_loss'):
            if key in logs:
                self.lines.append((state.global_step, key, float(logs[key])))


net = TabularNet()
diary = Diary()
with tempfile.TemporaryDirectory() as tmp:
    args = TrainingArguments(tmp, num_train_epochs=4, per_device_train_batch_size=16, gradient_accumulation_steps=2,
                             learning_rate=1e-2, weight_decay=0., logging_steps=4, eval_strategy='epoch',
                             save_strategy='no', report_to='none', disable_tqdm=True, use_cpu=True, seed=3,
                             remove_unused_columns=False)
    trainer = Trainer(net, args, train_dataset=rows(160), eval_dataset=rows(48),
                      callbacks=[FollowSlowly(20), diary],
                      compute_metrics=lambda p: {'mae': float(np.abs(p.predictions[0] - p.label_ids).mean())})
    trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
    trainer.train()
    final = trainer.evaluate()

for step, key, v in diary.lines:
    print('%3d %-10s %.4f' % (step, key, v))
print('mae %.4f' % final['eval_mae'])
parts = [net.encoder, net.predictor, net.price, net.slow[0]]
print('RESULT', *['%.6g' % sum(p.abs().sum().item() for p in m.parameters()) for m in parts], '%.6g' % final['eval_loss'])
