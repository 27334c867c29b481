import torch
from torch import nn

from quantizer import SoftCodebook


class Tokenizer(nn.Module):
    def __init__(self, patch=8, dim=6, codes=12):
        super().__init__()
        self.patch = patch
        self.encoder = nn.Sequential(nn.Linear(patch, 20), nn.SiLU(), nn.Linear(20, dim))
        self.quantizer = SoftCodebook(codes, dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 20), nn.SiLU(), nn.Linear(20, patch))

    def forward(self, wave):
        patches = wave.unfold(1, self.patch, self.patch).reshape(-1, self.patch)
        q = self.quantizer(self.encoder(patches))
        return patches, self.decoder(q.tokens), q


def waves(batch, length, generator):
    t = torch.linspace(0, 1, length)
    f = 2 + torch.randint(0, 5, (batch, 1), generator=generator)
    phase = torch.rand(batch, 1, generator=generator) * 6.28
    return torch.sin(6.28 * f * t + phase).sign() * 0.5 + torch.sin(6.28 * t * f)


class Fitter:
    def __init__(self, model, lr=4e-3, beta=0.25, warmup=5):
        self.model, self.beta = model, beta
        self.opt = torch.optim.RAdam(model.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: min(1.0, (s + 1) / warmup))

    def train_step(self, wave):
        self.model.train()
        patches, recon, q = self.model(wave)
        loss = nn.functional.l1_loss(recon, patches) + self.beta * q.commit
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item(), q.perplexity

    @torch.no_grad()
    def validate(self, wave):
        self.model.eval()
        patches, recon, _ = self.model(wave)
        return nn.functional.l1_loss(recon, patches).item()


if __name__ == "__main__":
    torch.manual_seed(41)
    data = torch.Generator().manual_seed(42)
    held_out = waves(8, 64, data)
    fitter = Fitter(Tokenizer())
    for i in range(30):
        loss, ppl = fitter.train_step(waves(8, 64, data))
        if i % 10 == 9:
            print(f"{i + 1}: loss {loss:.4f} perplexity {ppl:.2f} held out {fitter.validate(held_out):.4f}")
    print("RESULT %.6f %.6f" % (loss, fitter.validate(held_out)))
