import torch.nn as nn


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers=2):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntoken)
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers

    def forward(self, x, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(output)).view(-1, self.ntoken), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid)


def batchify(data, bsz):
    n = data.size(0) // bsz
    return data[: n * bsz].view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    n = min(bptt, len(source) - 1 - i)
    return source[i : i + n], source[i + 1 : i + 1 + n].view(-1)
