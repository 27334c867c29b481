from torch import nn


class TextClassifier(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.hidden = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.classifier(self.hidden(self.embed(ids)).relu())
