"""A small two-layer language model; its layers are later reused by the classifier."""
import torch
from torch import nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn1 = nn.GRU(dim, dim, batch_first=True)
        self.rnn2 = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids, state=(None, None)):
        a, s1 = self.rnn1(self.embed(ids), state[0])
        b, s2 = self.rnn2(a, state[1])
        return b, (s1, s2)


def pretrain(backbone, stream, vocab, bptt=10, lr=1e-2):
    """stream: (batch, time) token ids, read once from left to right"""
    decoder = nn.Linear(backbone.embed.embedding_dim, vocab)
    opt = torch.optim.Adam([*backbone.parameters(), *decoder.parameters()], lr=lr)
    state, nats = (None, None), []
    for start in range(0, stream.size(1) - bptt, bptt):
        chunk = stream[:, start:start + bptt + 1]
        feats, state = backbone(chunk[:, :-1], state)
        loss = F.cross_entropy(decoder(feats).flatten(0, 1), chunk[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        state = tuple(s.detach() for s in state)
        nats.append(loss.item())
    return decoder, nats
