import torch

from kalman import NeuronalesKalmanFilter, Schaetzung
from simulation import abschnitte, bahnen

torch.manual_seed(2024)

ABSCHNITT = 8
ANZAHL = 10


def pruefe(filter_, wahr, gemessen):
    with torch.no_grad():
        mittel, nll, _ = filter_(gemessen, Schaetzung.anfang(gemessen.size(1)))
        fehler = (mittel - wahr)[..., 0].pow(2).mean().sqrt()
    return fehler.item(), nll.item()


def main():
    wahr, gemessen = bahnen(ANZAHL, 40, saat=5)
    wahr_test, gemessen_test = bahnen(4, 30, saat=6)
    kf = NeuronalesKalmanFilter()
    gruppen = [
        {"params": [*kf.dynamik.parameters(), *kf.messrauschen.parameters()], "lr": 5e-3},
        {"params": [kf.log_q], "lr": 2e-2},
    ]
    optimierer = torch.optim.Adam(gruppen)

    verlauf = []
    for runde in range(4):
        glaube = Schaetzung.anfang(ANZAHL)
        for w, z in abschnitte(wahr, gemessen, ABSCHNITT):
            mittel, nll, glaube = kf(z, glaube)
            glaube = glaube.abgetrennt()
            ueberwacht = (mittel - w).pow(2).mean()
            verlust = nll + 0.5 * ueberwacht
            optimierer.zero_grad()
            verlust.backward()
            optimierer.step()
            verlauf.append(verlust.item())
        rmse, nll_test = pruefe(kf, wahr_test, gemessen_test)
        print(f"Runde {runde}: Verlust {sum(verlauf[-5:]) / 5:.4f}  Test-RMSE {rmse:.4f}  NLL {nll_test:.4f}")

    def betrag(m):
        return sum(p.abs().sum().item() for p in m.parameters())

    print("RESULT %.6g %.6g %.6g %.6g" % (
        betrag(kf.dynamik), betrag(kf.messrauschen), kf.log_q.abs().sum().item(), verlauf[-1]))


if __name__ == "__main__":
    main()
