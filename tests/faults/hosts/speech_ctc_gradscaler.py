# toy speech recogniser: sequences of "phones" rendered as noisy frames, BiGRU + CTC
# (written for a GPU, so scaler and autocast are there; on the CPU both are off)
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(42)
device = "cuda" if torch.cuda.is_available() else "cpu"
use_amp = device == "cuda"

PHONES, FEAT, BLANK = 6, 10, 0
codebook = torch.randn(PHONES, FEAT)


def utterance(g):
    n = int(torch.randint(3, 6, (1,), generator=g))
    phones = torch.randint(1, PHONES, (n,), generator=g)
    frames = []
    for p in phones:
        length = int(torch.randint(3, 6, (1,), generator=g))
        frames.append(codebook[p] + 0.4 * torch.randn(length, FEAT, generator=g))
    return torch.cat(frames), phones


def make_batch(g, size=12):
    xs, ys = zip(*(utterance(g) for _ in range(size)))
    x_len = torch.tensor([len(x) for x in xs])
    y_len = torch.tensor([len(y) for y in ys])
    x = nn.utils.rnn.pad_sequence(xs, batch_first=True)
    return x.to(device), torch.cat(ys).to(device), x_len, y_len


class Recogniser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.front = nn.Conv1d(FEAT, width, 3, padding=1)
        self.norm = nn.LayerNorm(width)
        self.rnn = nn.GRU(width, width, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * width, PHONES)

    def forward(self, x, lengths):
        x = F.gelu(self.front(x.transpose(1, 2))).transpose(1, 2)
        packed = nn.utils.rnn.pack_padded_sequence(self.norm(x), lengths, batch_first=True, enforce_sorted=False)
        y, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(y).log_softmax(-1)


model = Recogniser().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-3)
warmup = LambdaLR(opt, lambda step: min(1.0, (step + 1) / 10))
scaler = torch.amp.GradScaler(device, enabled=use_amp)
g = torch.Generator().manual_seed(1)

running = None
for step in range(40):
    x, y, x_len, y_len = make_batch(g)
    opt.zero_grad(set_to_none=True)
    with torch.autocast(device_type=device, enabled=use_amp):
        logp = model(x, x_len)
    loss = F.ctc_loss(logp.float().transpose(0, 1), y, x_len, y_len, blank=BLANK, zero_infinity=True)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    scaler.step(opt)
    scaler.update()
    warmup.step()
    running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
    if step % 10 == 9:
        print(f"step {step + 1:3d}  ctc {running:.3f}")


@torch.no_grad()
def phone_errors(batches=3):
    wrong = total = 0
    for _ in range(batches):
        x, y, x_len, y_len = make_batch(g)
        best = model(x, x_len).argmax(-1)
        for row, n, ref in zip(best, x_len, y.split(y_len.tolist())):
            hyp = [int(k) for k in torch.unique_consecutive(row[:n]) if k != BLANK]
            wrong += sum(a != b for a, b in zip(hyp, ref.tolist())) + abs(len(hyp) - len(ref))
            total += len(ref)
    return wrong / total


model.eval()
per = phone_errors()
print("phone error rate %.3f" % per)
print("RESULT", *(f"{v:.6g}" for v in (running, per, model.out.weight.abs().sum().item())))
