import torch
import torch.nn as nn
from data import PAD, SOS


class Encoder(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.gru = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)

    def forward(self, src, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(src), lengths, batch_first=True, enforce_sorted=False)
        out, h = self.gru(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return out, torch.tanh(self.bridge(torch.cat([h[0], h[1]], dim=-1)))


class AdditiveAttention(nn.Module):
    def __init__(self, enc_dim, hidden, attn=16):
        super().__init__()
        self.w_enc = nn.Linear(enc_dim, attn, bias=False)
        self.w_dec = nn.Linear(hidden, attn)
        self.v = nn.Linear(attn, 1, bias=False)

    def forward(self, keys, enc_out, hidden, mask):
        energy = self.v(torch.tanh(keys + self.w_dec(hidden).unsqueeze(1))).squeeze(-1)
        weights = energy.masked_fill(~mask, -1e9).softmax(dim=-1)
        return torch.bmm(weights.unsqueeze(1), enc_out).squeeze(1), weights


class Decoder(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.attention = AdditiveAttention(2 * hidden, hidden)
        self.cell = nn.GRUCell(dim + 2 * hidden, hidden)
        self.out = nn.Linear(3 * hidden, vocab)

    def forward(self, enc_out, hidden, mask, steps, target=None, teacher_prob=0.0, rng=None):
        keys = self.attention.w_enc(enc_out)
        token = torch.full((enc_out.size(0),), SOS)
        logits = []
        for t in range(steps):
            context, _ = self.attention(keys, enc_out, hidden, mask)
            hidden = self.cell(torch.cat([self.embedding(token), context], dim=-1), hidden)
            step_logits = self.out(torch.cat([hidden, context], dim=-1))
            logits.append(step_logits)
            forced = target is not None and rng.random() < teacher_prob
            token = target[:, t] if forced else step_logits.argmax(dim=-1)
        return torch.stack(logits, dim=1)
