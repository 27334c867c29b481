import itertools

import torch

from models import resnetGenerator, patchDiscriminator
from utils import ImagePool, setRequiresGrad, unpairedPatches

opt = dict(nEpochs=3, decayEpoch=1, batchSize=8, lr=2e-3, lambdaCycle=10.0, lambdaIdt=5.0, poolSize=12)
torch.manual_seed(77)

netG_A2B, netG_B2A = resnetGenerator(), resnetGenerator()
netD_A, netD_B = patchDiscriminator(), patchDiscriminator()
criterionGAN = torch.nn.MSELoss()
criterionCycle = torch.nn.L1Loss()
criterionIdentity = torch.nn.L1Loss()

optimizerG = torch.optim.Adam(itertools.chain(netG_A2B.parameters(), netG_B2A.parameters()), lr=opt['lr'], betas=(0.5, 0.999))
optimizerD_A = torch.optim.Adam(netD_A.parameters(), lr=opt['lr'], betas=(0.5, 0.999))
optimizerD_B = torch.optim.Adam(netD_B.parameters(), lr=opt['lr'], betas=(0.5, 0.999))
decay = lambda e: 1.0 - max(0, e - opt['decayEpoch']) / (opt['nEpochs'] - opt['decayEpoch'])
schedulers = [torch.optim.lr_scheduler.LambdaLR(o, decay) for o in (optimizerG, optimizerD_A, optimizerD_B)]

fakePoolA, fakePoolB = ImagePool(opt['poolSize']), ImagePool(opt['poolSize'])
dataloader = torch.utils.data.DataLoader(unpairedPatches(24), batch_size=opt['batchSize'], shuffle=True)


def ganLoss(pred, isReal):
    return criterionGAN(pred, torch.full_like(pred, float(isReal)))


for epoch in range(opt['nEpochs']):
    epochLog = {'G': 0.0, 'D_A': 0.0, 'D_B': 0.0, 'cycle': 0.0}
    for realA, realB in dataloader:
        # ---- generators ----
        setRequiresGrad([netD_A, netD_B], False)
        optimizerG.zero_grad()

        lossIdt = criterionIdentity(netG_A2B(realB), realB) + criterionIdentity(netG_B2A(realA), realA)

        fakeB = netG_A2B(realA)
        fakeA = netG_B2A(realB)
        lossGAN = ganLoss(netD_B(fakeB), True) + ganLoss(netD_A(fakeA), True)

        recoveredA = netG_B2A(fakeB)
        recoveredB = netG_A2B(fakeA)
        lossCycle = criterionCycle(recoveredA, realA) + criterionCycle(recoveredB, realB)

        lossG = lossGAN + opt['lambdaCycle'] * lossCycle + opt['lambdaIdt'] * lossIdt
        lossG.backward()
        optimizerG.step()
        epochLog['G'] += lossG.item() / len(dataloader)
        epochLog['cycle'] += lossCycle.item() / len(dataloader)

        # ---- discriminators ----
        setRequiresGrad([netD_A, netD_B], True)
        for key, netD, real, fake, pool, optimizerD in (('D_A', netD_A, realA, fakeA, fakePoolA, optimizerD_A),
                                                        ('D_B', netD_B, realB, fakeB, fakePoolB, optimizerD_B)):
            optimizerD.zero_grad()
            lossD = 0.5 * (ganLoss(netD(real), True) + ganLoss(netD(pool.query(fake)), False))
            lossD.backward()
            optimizerD.step()
            epochLog[key] += lossD.item() / len(dataloader)

    for s in schedulers:
        s.step()
    print('Epoch %d | ' % epoch + ' | '.join('%s: %.4f' % kv for kv in epochLog.items()))

nets = [netG_A2B, netG_B2A, netD_A, netD_B]
print('RESULT ' + ' '.join('%.6g' % sum(p.abs().sum().item() for p in n.parameters()) for n in nets)
      + ' %.6g %.6g' % (epochLog['G'], epochLog['D_A'] + epochLog['D_B']))
