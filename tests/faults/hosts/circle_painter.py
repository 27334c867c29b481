import torch, math
torch.manual_seed(4)

H = W = 24
ys, xs = torch.meshgrid(torch.linspace(-1, 1, H), torch.linspace(-1, 1, W), indexing='ij')
grid = torch.stack([xs, ys], -1)


def render(centres, radii, colours, sharp=12.0):
    """back to front alpha compositing of soft discs"""
    img = torch.ones(H, W, 3) * 0.9
    for c, r, col in zip(centres, radii, colours):
        sdf = (grid - c).pow(2).sum(-1).add(1e-8).sqrt() - r
        a = torch.sigmoid(-sharp * sdf).unsqueeze(-1)
        img = a * col + (1 - a) * img
    return img


def target_image():
    c = torch.tensor([[-.4, -.3], [.35, .1], [0., .5]])
    r = torch.tensor([.35, .4, .25])
    col = torch.tensor([[.9, .2, .1], [.1, .3, .8], [.2, .8, .3]])
    return render(c, r, col, sharp=30.0)


def annealing(start, end, n):
    for i in range(n):
        yield start * (end / start) ** (i / max(1, n - 1))


target = target_image()
N = 4
raw = dict(
    centres=(torch.rand(N, 2) * 1.2 - 0.6),
    radii=torch.full((N,), math.log(0.3)),
    colours=torch.randn(N, 3) * 0.3,
)
for v in raw.values():
    v.requires_grad_()
lrs = dict(centres=0.03, radii=0.04, colours=0.15)
optims = {k: torch.optim.Adam([raw[k]], lr=lrs[k]) for k in raw}

psnrs = []
for it, sharp in enumerate(annealing(6.0, 25.0, 30)):
    img = render(raw['centres'], raw['radii'].exp(), raw['colours'].sigmoid(), sharp)
    photo = (img - target).abs().mean()
    off_canvas = (raw['centres'].abs() - 1).clamp(min=0).sum()
    loss = photo + 0.1 * off_canvas
    for o in optims.values():
        o.zero_grad()
    loss.backward()
    for o in optims.values():
        o.step()
    with torch.no_grad():
        raw['radii'].clamp_(math.log(0.05), math.log(0.8))
        psnrs.append(-10 * math.log10((img - target).square().mean().item()))
    if it % 6 == 0:
        print(f'{it:3d} L1 {photo.item():.4f} psnr {psnrs[-1]:.2f}')

with torch.no_grad():
    final = render(raw['centres'], raw['radii'].exp(), raw['colours'].sigmoid(), 30.0)
ascii_art = [''.join(' .:*#'[min(4, int((1 - p) * 5))] for p in row) for row in final.mean(-1)[::4, ::2].tolist()]
print('\n'.join(ascii_art))
print('RESULT', *['%.6g' % raw[k].detach().abs().sum().item() for k in raw], '%.6g' % (final - target).abs().mean().item())
