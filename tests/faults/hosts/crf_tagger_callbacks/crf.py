import torch
from torch import nn


class CRF(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(n_tags, n_tags) * 0.1)
        self.start = nn.Parameter(torch.zeros(n_tags))
        self.stop = nn.Parameter(torch.zeros(n_tags))

    def log_partition(self, emit):
        alpha = self.start + emit[:, 0]
        for t in range(1, emit.size(1)):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.trans, dim=1) + emit[:, t]
        return torch.logsumexp(alpha + self.stop, dim=1)

    def nll(self, emit, tags):
        score = self.start[tags[:, 0]] + self.stop[tags[:, -1]] + self.trans[tags[:, :-1], tags[:, 1:]].sum(1)
        score = score + emit.gather(2, tags.unsqueeze(2)).squeeze(2).sum(1)
        return (self.log_partition(emit) - score).mean() / emit.size(1)

    @torch.no_grad()
    def viterbi(self, emit):
        delta, back = self.start + emit[:, 0], []
        for t in range(1, emit.size(1)):
            best, idx = (delta.unsqueeze(2) + self.trans).max(1)
            delta = best + emit[:, t]
            back.append(idx)
        path = [(delta + self.stop).argmax(1)]
        for idx in reversed(back):
            path.append(idx.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return torch.stack(path[::-1], 1)


class Tagger(nn.Module):
    def __init__(self, vocab, n_tags, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Conv1d(dim, dim, 3, padding=1)
        self.emit = nn.Linear(dim, n_tags)
        self.crf = CRF(n_tags)

    def forward(self, words):
        h = self.embed(words)
        h = h + torch.relu(self.mix(h.transpose(1, 2))).transpose(1, 2)
        return self.emit(h)

    def loss(self, words, tags):
        return self.crf.nll(self(words), tags)

    def decode(self, words):
        return self.crf.viterbi(self(words))
