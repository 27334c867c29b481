import random

PAD, SOS, EOS = 0, 1, 2
ALPHABET = "abcdefgh"


class Vocab:
    def __init__(self, letters):
        self.itos = ["<pad>", "<s>", "</s>"] + list(letters)
        self.stoi = {c: i for i, c in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, word):
        return [self.stoi[c] for c in word] + [EOS]

    def decode(self, ids):
        ids = ids[:ids.index(EOS)] if EOS in ids else ids
        return "".join(self.itos[i] if i > EOS else "?" for i in ids)


def make_pairs(vocab, n, seed, lo=3, hi=6):
    rng = random.Random(seed)
    words = ["".join(rng.choices(ALPHABET, k=rng.randint(lo, hi))) for _ in range(n)]
    return [(vocab.encode(w), vocab.encode(w[::-1])) for w in words]
