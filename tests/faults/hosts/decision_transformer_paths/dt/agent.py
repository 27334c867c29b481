import torch
from torch import nn


class DecisionTransformer(nn.Module):
    def __init__(self, states: int, actions: int, width: int, heads: int, context: int):
        super().__init__()
        self.to_go = nn.Linear(1, width)
        self.state = nn.Embedding(states, width)
        self.action = nn.Embedding(actions, width)
        self.position = nn.Parameter(0.02 * torch.randn(context, width))
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, actions)

    def forward(self, to_go, states, actions):
        """Logits of the action of every step, from the tokens return, state, action in turn."""
        batch, steps = states.shape
        tokens = torch.stack([self.to_go(to_go[..., None] / 10), self.state(states), self.action(actions)], dim=2)
        tokens = (tokens + self.position[:steps, None]).flatten(1, 2)
        mask = nn.Transformer.generate_square_subsequent_mask(3 * steps)
        return self.head(self.blocks(tokens, mask=mask, is_causal=True)[:, 1::3])

    @torch.no_grad()
    def rollout(self, walks, start: int, target_return: float) -> float:
        self.eval()
        states, actions, to_go, total = [start], [0], [target_return], 0.0
        for _ in range(walks.length):
            logits = self(torch.tensor([to_go]), torch.tensor([states]), torch.tensor([actions]))[0, -1]
            logits = logits.masked_fill(~walks.edges[states[-1]], -torch.inf)
            actions[-1] = int(logits.argmax())
            if states[-1] == walks.goal:
                break
            total -= 1.0
            states.append(actions[-1])
            actions.append(0)
            to_go.append(to_go[-1] + 1.0)
            if len(states) > walks.length:
                break
        self.train()
        return total

    def size(self) -> float:
        return sum(p.detach().abs().sum().item() for p in self.parameters())
