import torch

from module import DetectorModule
from runner import Runner

torch.manual_seed(10)
x = torch.randn(96, 12)
boxes = x[:, :4].sigmoid()
labels = x[:, 4:8].argmax(1)
runner = Runner(DetectorModule(), lr=3e-3)
log = runner.fit(list(zip(x.split(16), boxes.split(16), labels.split(16))), epochs=2)
print("RESULT", *(f"{log[k]:.6g}" for k in sorted(log)))
