import copy

import torch
from episodes import EpisodeSampler
from protonet import Encoder, episode_loss


@torch.no_grad()
def validate(enc, sampler, n):
    enc.eval()
    losses, accs = zip(*(episode_loss(enc, *ep) for ep in sampler.episodes(n)))
    enc.train()
    return float(torch.stack(losses).mean()), sum(accs) / n


def train(enc, train_sampler, val_seed, epochs=5, episodes_per_epoch=5):
    opt = torch.optim.Adam(enc.parameters(), lr=8e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.7)
    best_val, best_weights, patience = float("inf"), None, 2
    last = 0.0
    for epoch in range(epochs):
        for support, query, labels in train_sampler.episodes(episodes_per_epoch):
            loss, acc = episode_loss(enc, support, query, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            last = loss.item()
        sched.step()
        val, vacc = validate(enc, EpisodeSampler(12, 4, 3, 5, val_seed), 4)
        print("epoch %d | train %.4f | val %.4f | val acc %.2f" % (epoch, last, val, vacc))
        if val < best_val:
            best_val, best_weights, patience = val, copy.deepcopy(enc.state_dict()), 2
        else:
            patience -= 1
            if patience == 0:
                print("stopping early")
                break
    enc.load_state_dict(best_weights)
    return best_val, last


def main():
    torch.manual_seed(2024)
    enc = Encoder()
    best_val, last = train(enc, EpisodeSampler(30, 4, 3, 5, seed=0), val_seed=99)
    total = sum(p.abs().sum().item() for p in enc.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (total, enc.log_temp.item(), best_val, last))


if __name__ == "__main__":
    main()
