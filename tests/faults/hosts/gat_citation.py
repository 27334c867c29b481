import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

# ----------------------------------------------------------------------------
# hyperparameters
n_nodes = 60
n_class = 3
n_feat = 10
n_hidden = 6
n_heads = 3
dropout = 0.2
max_epochs = 30
patience = 6
# ----------------------------------------------------------------------------


def make_citation_graph(g):
    """ stochastic block model with weakly informative features """
    y = torch.randint(0, n_class, (n_nodes,), generator=g)
    same = y[:, None] == y[None, :]
    p = torch.where(same, 0.18, 0.02)
    adj = torch.bernoulli(p, generator=g).triu(1)
    adj = adj + adj.T + torch.eye(n_nodes)       # self loops
    x = torch.randn(n_nodes, n_feat, generator=g) + 0.7 * F.one_hot(y, n_feat)
    perm = torch.randperm(n_nodes, generator=g)
    masks = {'train': perm[:20], 'val': perm[20:35], 'test': perm[35:]}
    return x, adj.nonzero().T, y, masks


def edge_softmax(scores, dst, n):
    """ softmax over the incoming edges of each node; scores is (E, H) """
    idx = dst[:, None].expand_as(scores)
    biggest = torch.full((n, scores.size(1)), -1e9).scatter_reduce(0, idx, scores.detach(), 'amax')
    e = torch.exp(scores - biggest[dst])
    denom = torch.zeros(n, scores.size(1)).index_add(0, dst, e)
    return e / denom[dst]


class GATLayer(nn.Module):

    def __init__(self, fin, fout, heads, concat=True):
        super().__init__()
        self.heads, self.fout, self.concat = heads, fout, concat
        self.proj = nn.Linear(fin, heads * fout, bias=False)
        self.a_src = nn.Parameter(torch.randn(heads, fout) * 0.3)
        self.a_dst = nn.Parameter(torch.randn(heads, fout) * 0.3)
        self.bias = nn.Parameter(torch.zeros(heads * fout if concat else fout))

    def forward(self, x, edges):
        src, dst = edges
        n = x.size(0)
        h = self.proj(x).view(n, self.heads, self.fout)
        s = (h * self.a_src).sum(-1)
        t = (h * self.a_dst).sum(-1)
        alpha = edge_softmax(F.leaky_relu(s[src] + t[dst], 0.2), dst, n)
        alpha = F.dropout(alpha, dropout, self.training)
        out = torch.zeros_like(h).index_add(0, dst, alpha.unsqueeze(-1) * h[src])
        out = out.flatten(1) if self.concat else out.mean(1)
        return out + self.bias


class GAT(nn.Module):

    def __init__(self):
        super().__init__()
        self.l1 = GATLayer(n_feat, n_hidden, n_heads)
        self.l2 = GATLayer(n_hidden * n_heads, n_class, 2, concat=False)

    def forward(self, x, edges):
        x = F.dropout(x, dropout, self.training)
        x = F.elu(self.l1(x, edges))
        return self.l2(x, edges)


@torch.no_grad()
def estimate(model, x, edges, y, masks):
    model.eval()
    logits = model(x, edges)
    out = {}
    for split, idx in masks.items():
        out[split] = (F.cross_entropy(logits[idx], y[idx]).item(), (logits[idx].argmax(1) == y[idx]).float().mean().item())
    model.train()
    return out


torch.manual_seed(1337)
x, edges, y, masks = make_citation_graph(torch.Generator().manual_seed(1))
model = GAT()
decay = [p for p in model.parameters() if p.dim() >= 2]
nodecay = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 5e-3}, {'params': nodecay, 'weight_decay': 0.0}], lr=2e-2)

best_val, best_state, bad = float('inf'), None, 0
epoch = 0
while epoch < max_epochs and bad < patience:
    logits = model(x, edges)
    loss = F.cross_entropy(logits[masks['train']], y[masks['train']])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    metrics = estimate(model, x, edges, y, masks)
    if metrics['val'][0] < best_val:
        best_val, best_state, bad = metrics['val'][0], copy.deepcopy(model.state_dict()), 0
    else:
        bad += 1
    if epoch % 5 == 0:
        print(f"epoch {epoch}: train {loss.item():.4f} val {metrics['val'][0]:.4f} acc {metrics['val'][1]:.2f}")
    epoch += 1

last_train = loss.item()
final_weights = sum(p.abs().sum().item() for p in model.parameters())
model.load_state_dict(best_state)
test_loss, test_acc = estimate(model, x, edges, y, masks)['test']
print(f"stopped after {epoch} epochs, test loss {test_loss:.4f}, acc {test_acc:.2f}")
print('RESULT %.6g %.6g %.6g %.6g' % (final_weights, last_train, best_val, test_loss))
