import torch
from torch import nn
import torch.nn.functional as F

from knowledge import ATTRIBUTES, VOCAB


class Retriever(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)

    def forward(self, tokens, kind):
        return F.normalize(getattr(self, kind)(self.words(tokens)), dim=-1)


class Reader(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, ATTRIBUTES))

    def forward(self, question, docs):
        q = self.words(question).mean(1, keepdim=True).expand(-1, docs.shape[1], -1)
        return self.mlp(torch.cat([q, self.words(docs).mean(2)], dim=-1))


class DenseIndex:
    """Keys of all documents, as the retriever saw them at the last rebuild. Search only; scores are recomputed."""

    def __init__(self, docs):
        self.docs = docs
        self.keys = None

    @torch.no_grad()
    def rebuild(self, retriever):
        self.keys = retriever(self.docs, "key")

    def search(self, q, k):
        return (q.detach() @ self.keys.T).topk(k, dim=1).indices


def marginal_nll(doc_scores, answer_logits, answers):
    """-log sum_z p(z | q) p(a | q, z)"""
    log_pz = doc_scores.log_softmax(dim=1)
    log_pa = answer_logits.log_softmax(dim=-1).gather(2, answers[:, None, None].expand(-1, doc_scores.shape[1], 1)).squeeze(2)
    return -(log_pz + log_pa).logsumexp(dim=1).mean()
