import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def fabriquer_croix(n, graine):
    """petites images 6x6 : une croix dont la position et l'epaisseur varient"""
    alea = torch.Generator().manual_seed(graine)
    grille = torch.arange(6).float()
    cx = 5 * torch.rand(n, 1, generator=alea)
    cy = 5 * torch.rand(n, 1, generator=alea)
    ep = 0.4 + 0.6 * torch.rand(n, 1, generator=alea)
    lignes = torch.exp(-((grille - cy) / ep) ** 2)[:, :, None]
    colonnes = torch.exp(-((grille - cx) / ep) ** 2)[:, None, :]
    return (lignes + colonnes).clamp(0, 1).reshape(n, 36)


def paquets(x, taille, epoques):
    for e in range(epoques):
        for indices in torch.randperm(x.shape[0]).split(taille):
            yield e, x[indices]


class BetaVAE(nn.Module):
    def __init__(self, dim_cachee=32, dim_latente=3):
        super().__init__()
        self.encodeur = nn.Sequential(nn.Linear(36, dim_cachee), nn.SiLU(), nn.Linear(dim_cachee, 2 * dim_latente))
        self.decodeur = nn.Sequential(nn.Linear(dim_latente, dim_cachee), nn.SiLU(), nn.Linear(dim_cachee, 36))

    def forward(self, x):
        moyenne, logvar = self.encodeur(x).chunk(2, dim=-1)
        bruit = torch.randn_like(moyenne) if self.training else torch.zeros_like(moyenne)
        z = moyenne + bruit * (0.5 * logvar).exp()
        return self.decodeur(z), moyenne, logvar


def pertes(vae, x):
    logits, moyenne, logvar = vae(x)
    recons = F.binary_cross_entropy_with_logits(logits, x, reduction='none').sum(1).mean()
    kl_par_dim = 0.5 * (moyenne ** 2 + logvar.exp() - 1 - logvar).mean(0)
    return recons, kl_par_dim


@torch.no_grad()
def evaluer(vae, x):
    vae.eval()
    recons, kl = pertes(vae, x)
    vae.train()
    return recons.item(), kl.sum().item()


def entrainer(graine=42, epoques=5, gamma=8.0, capacite_max=4.0):
    torch.manual_seed(graine)
    x_app, x_val = fabriquer_croix(96, 1), fabriquer_croix(32, 2)
    vae = BetaVAE()
    opt = torch.optim.AdamW(vae.parameters(), lr=5e-3, weight_decay=1e-4)
    total = epoques * math.ceil(len(x_app) / 16)
    kl_lissee = torch.zeros(3)
    courbe = []

    for pas, (epoque, x) in enumerate(paquets(x_app, 16, epoques)):
        capacite = capacite_max * min(1.0, pas / (0.7 * total))   # Burgess et al. 2018
        recons, kl_par_dim = pertes(vae, x)
        objectif = recons + gamma * (kl_par_dim.sum() - capacite).abs()
        opt.zero_grad()
        objectif.backward()
        nn.utils.clip_grad_norm_(vae.parameters(), 20.0)
        opt.step()
        kl_lissee.mul_(0.9).add_(kl_par_dim.detach(), alpha=0.1)
        courbe.append(objectif.item())
        if pas % 6 == 5:
            r, k = evaluer(vae, x_val)
            print('ep %d pas %2d | C %.2f | objectif %.3f | val recons %.3f kl %.3f' % (epoque, pas, capacite, courbe[-1], r, k))
    return vae, kl_lissee, courbe, evaluer(vae, x_val)


if __name__ == '__main__':
    vae, kl_lissee, courbe, (r, k) = entrainer()
    print('kl par dimension :', ['%.3f' % v for v in kl_lissee.tolist()])
    enc = sum(p.abs().sum().item() for p in vae.encodeur.parameters())
    dec = sum(p.abs().sum().item() for p in vae.decodeur.parameters())
    print('RESULT %.6g %.6g %.6g %.6g %.6g' % (enc, dec, courbe[-1], r, kl_lissee.sum().item()))
