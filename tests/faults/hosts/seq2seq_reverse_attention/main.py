import random
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from data import ALPHABET, PAD, Vocab, make_pairs
from model import Decoder, Encoder

torch.manual_seed(3)
rng = random.Random(3)
vocab = Vocab(ALPHABET)
train_pairs = make_pairs(vocab, 96, seed=10)
valid_pairs = make_pairs(vocab, 12, seed=11)

encoder = Encoder(len(vocab), 16, 24)
decoder = Decoder(len(vocab), 16, 24)
enc_optimizer = torch.optim.Adam(encoder.parameters(), lr=8e-3)
dec_optimizer = torch.optim.Adam(decoder.parameters(), lr=8e-3)


def collate(pairs):
    src, tgt = zip(*pairs)
    lengths = torch.tensor([len(s) for s in src])
    src, tgt = (pad_sequence([torch.tensor(r) for r in rows], batch_first=True, padding_value=PAD) for rows in (src, tgt))
    return src, lengths, tgt


def train_step(pairs, teacher_prob):
    src, lengths, tgt = collate(pairs)
    enc_optimizer.zero_grad()
    dec_optimizer.zero_grad()
    enc_out, hidden = encoder(src, lengths)
    logits = decoder(enc_out, hidden, src != PAD, tgt.size(1), tgt, teacher_prob, rng)
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
    loss.backward()
    for module in (encoder, decoder):
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    enc_optimizer.step()
    dec_optimizer.step()
    return loss.item()


@torch.no_grad()
def char_accuracy(pairs):
    src, lengths, tgt = collate(pairs)
    enc_out, hidden = encoder(src, lengths)
    guess = decoder(enc_out, hidden, src != PAD, tgt.size(1)).argmax(-1)
    keep = tgt != PAD
    return (guess[keep] == tgt[keep]).float().mean().item(), vocab.decode(guess[0].tolist())


teacher_prob = 1.0
for epoch in range(4):
    rng.shuffle(train_pairs)
    losses = [train_step(train_pairs[i:i + 16], teacher_prob) for i in range(0, len(train_pairs), 16)]
    accuracy, example = char_accuracy(valid_pairs)
    print("epoch %d | tf %.2f | loss %.4f | char acc %.3f | %s -> %s" % (
        epoch, teacher_prob, sum(losses) / len(losses), accuracy, vocab.decode(valid_pairs[0][0]), example))
    teacher_prob *= 0.8

print("RESULT %.6g %.6g %.6g" % (
    *(sum(p.abs().sum().item() for p in m.parameters()) for m in (encoder, decoder)), losses[-1]))
