import torch
import torch.nn as nn


class NodeMemory(nn.Module):
    """Per-node state and the raw messages that wait to be applied to it."""

    def __init__(self, n_nodes, mem_dim, feat_dim, time_dim):
        super().__init__()
        self.mem_dim = mem_dim
        self.time_w = nn.Parameter(torch.logspace(0, -2, time_dim))
        self.updater = nn.GRUCell(2 * mem_dim + feat_dim + time_dim, mem_dim)
        self.register_buffer("state", torch.zeros(n_nodes, mem_dim))
        self.register_buffer("last_seen", torch.zeros(n_nodes))
        self.pending = {}

    def reset(self):
        self.state.zero_()
        self.last_seen.zero_()
        self.pending.clear()

    def encode_time(self, dt):
        return torch.cos(dt.unsqueeze(-1) * self.time_w)

    def fresh(self):
        """State of all nodes with the waiting messages applied."""
        if not self.pending:
            return self.state, self.last_seen
        nodes = torch.tensor(sorted(self.pending))
        raw = [self.pending[n] for n in nodes.tolist()]
        msg = torch.stack([r[0] for r in raw])
        when = torch.stack([r[1] for r in raw])
        dt = when - self.last_seen[nodes]
        updated = self.updater(torch.cat([msg, self.encode_time(dt)], -1), self.state[nodes])
        return self.state.index_copy(0, nodes, updated), self.last_seen.index_copy(0, nodes, when)

    @torch.no_grad()
    def commit(self, state, last_seen):
        self.state.copy_(state)
        self.last_seen.copy_(last_seen)
        self.pending.clear()

    @torch.no_grad()
    def store(self, batch):
        for a, b, t, f in zip(batch.src.tolist(), batch.dst.tolist(), batch.t, batch.feat):
            for me, other in ((a, b), (b, a)):
                self.pending[me] = (torch.cat([self.state[me], self.state[other], f]), t)
