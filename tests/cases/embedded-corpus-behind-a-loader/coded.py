from torch.utils.data import Dataset


class CodedDataset(Dataset):
    def __init__(self, autoencoder, rows, labels):
        self.codes = autoencoder.encode(rows)
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.codes[i], self.labels[i]
