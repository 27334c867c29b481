from perceptual import FeatureLoss, pretrain_classifier
from sr_net import UpscaleNet
from synth import low_res, shapes

import torch
import torch.nn.functional as F

SETTINGS = dict(steps=12, micro_batches=2, micro_size=8, w_pixel=1.0, w_feat=0.5, w_tv=1e-3)


def total_variation(img):
    return (img[..., 1:, :] - img[..., :-1, :]).abs().mean() + (img[..., :, 1:] - img[..., :, :-1]).abs().mean()


def psnr(a, b):
    return -10 * torch.log10(F.mse_loss(a, b))


def fit(net, feature_loss, gen, s):
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, s["steps"])
    last = None
    for step in range(s["steps"]):
        opt.zero_grad()
        logged = torch.zeros(3)
        for _ in range(s["micro_batches"]):
            hi, _ = shapes(s["micro_size"], gen)
            sr = net(low_res(hi))
            parts = torch.stack([F.l1_loss(sr, hi), feature_loss(sr, hi), total_variation(sr)])
            loss = parts @ torch.tensor([s["w_pixel"], s["w_feat"], s["w_tv"]])
            (loss / s["micro_batches"]).backward()
            logged += parts.detach() / s["micro_batches"]
        opt.step()
        sched.step()
        last = logged.tolist()
        if step % 3 == 2:
            print("step %2d pixel %.4f feat %.4f tv %.4f" % (step + 1, *last))
    return last


def main():
    torch.manual_seed(64)
    gen = torch.Generator().manual_seed(128)
    classifier, accuracy = pretrain_classifier(gen)
    print("classifier accuracy %.3f" % accuracy)

    net = UpscaleNet()
    last = fit(net, FeatureLoss(classifier, layers=(1, 3)), gen, SETTINGS)

    net.eval()
    with torch.no_grad():
        hi, _ = shapes(16, gen)
        lo = low_res(hi)
        ours = psnr(net(lo), hi).item()
        plain = psnr(F.interpolate(lo, scale_factor=2, mode="bilinear", align_corners=False), hi).item()
    print("psnr %.2f (bilinear %.2f)" % (ours, plain))

    backbone = sum(p.abs().sum().item() for p in classifier.parameters())
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (sum(p.abs().sum().item() for p in net.parameters()), backbone, last[0], last[1], ours))


if __name__ == "__main__":
    main()
