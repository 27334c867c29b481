import torch
from torch import nn
import torch.nn.functional as F


class DetectorModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU())
        self.box, self.cls, self.obj = nn.Linear(32, 4), nn.Linear(32, 4), nn.Linear(32, 1)

    def training_step(self, batch):
        x, boxes, labels = batch
        feats = self.backbone(x)
        obj = self.obj(feats).squeeze(-1)
        return {
            "loss_box": F.smooth_l1_loss(self.box(feats).sigmoid(), boxes),
            "loss_cls": F.cross_entropy(self.cls(feats), labels),
            "loss_obj": F.binary_cross_entropy_with_logits(obj, torch.ones_like(obj)),
        }
