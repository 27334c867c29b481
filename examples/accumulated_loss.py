# Short sequences of tokens into three classes; the running loss is shown after each epoch.
import torch
from torch import nn

torch.manual_seed(0)

model = nn.Sequential(nn.Embedding(50, 16), nn.Flatten(), nn.Linear(16 * 6, 32), nn.Tanh(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

words = torch.randint(0, 50, (320, 6))
classes = words.sum(dim=1) % 3
batches = list(zip(words.split(32), classes.split(32)))

for epoch in range(5):
    total_loss = 0
    for tokens, target in batches:
        optimizer.zero_grad()
        total_loss += criterion(model(tokens), target)
        total_loss.backward()
        optimizer.step()
    print(f"epoch {epoch}  loss {total_loss.item() / len(batches):.3f}")
