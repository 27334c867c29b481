import logging
import math
import sys
from collections import defaultdict

import torch
import torch.nn as nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
logger = logging.getLogger("dAAE")


def sample_swiss_roll(number_of_points, random_source):
    angle = 1.5 * math.pi * (1 + 2 * torch.rand(number_of_points, generator=random_source))
    height = 2 * torch.rand(number_of_points, generator=random_source) - 1
    return torch.stack([angle * angle.cos() / 10, height, angle * angle.sin() / 10], dim=1)


def fully_connected(*layer_widths):
    layers = []
    for width_in, width_out in zip(layer_widths[:-2], layer_widths[1:-1]):
        layers.extend([nn.Linear(width_in, width_out), nn.GELU()])
    layers.append(nn.Linear(layer_widths[-2], layer_widths[-1]))
    return nn.Sequential(*layers)


class DenoisingAdversarialAutoencoder:
    def __init__(self, corruption_level=0.1, latent_dimension=2):
        self.corruption_level = corruption_level
        self.latent_dimension = latent_dimension
        self.encoder = fully_connected(3, 32, 32, latent_dimension)
        self.decoder = fully_connected(latent_dimension, 32, 32, 3)
        self.latent_discriminator = fully_connected(latent_dimension, 32, 1)

        autoencoder_parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.reconstruction_optimizer = torch.optim.Adam(autoencoder_parameters, lr=1e-2)
        self.discriminator_optimizer = torch.optim.Adam(self.latent_discriminator.parameters(), lr=2e-3)
        self.encoder_optimizer = torch.optim.SGD(self.encoder.parameters(), lr=2e-2)
        self.adversarial_criterion = nn.BCEWithLogitsLoss()

    def corrupt(self, clean_points):
        return clean_points + self.corruption_level * torch.randn_like(clean_points)

    def reconstruction_phase(self, clean_points):
        self.reconstruction_optimizer.zero_grad()
        restored_points = self.decoder(self.encoder(self.corrupt(clean_points)))
        reconstruction_loss = nn.functional.mse_loss(restored_points, clean_points)
        reconstruction_loss.backward()
        self.reconstruction_optimizer.step()
        return reconstruction_loss.item()

    def discriminator_phase(self, clean_points):
        self.discriminator_optimizer.zero_grad()
        with torch.no_grad():
            posterior_codes = self.encoder(self.corrupt(clean_points))
        prior_codes = torch.randn(len(clean_points), self.latent_dimension)
        prior_logits = self.latent_discriminator(prior_codes)
        posterior_logits = self.latent_discriminator(posterior_codes)
        discriminator_loss = self.adversarial_criterion(prior_logits, torch.ones_like(prior_logits))
        discriminator_loss = discriminator_loss + self.adversarial_criterion(posterior_logits, torch.zeros_like(posterior_logits))
        discriminator_loss.backward()
        self.discriminator_optimizer.step()
        return discriminator_loss.item()

    def confusion_phase(self, clean_points):
        self.encoder_optimizer.zero_grad()
        posterior_logits = self.latent_discriminator(self.encoder(self.corrupt(clean_points)))
        confusion_loss = self.adversarial_criterion(posterior_logits, torch.ones_like(posterior_logits))
        confusion_loss.backward()
        self.encoder_optimizer.step()
        return confusion_loss.item()

    @torch.no_grad()
    def clean_reconstruction_error(self, points):
        return (self.decoder(self.encoder(points)) - points).norm(dim=1).mean().item()


def main():
    torch.manual_seed(2016)
    random_source = torch.Generator().manual_seed(7)
    training_points = sample_swiss_roll(96, random_source)
    validation_points = sample_swiss_roll(48, random_source)
    model = DenoisingAdversarialAutoencoder()
    phases = {
        "reconstruction": model.reconstruction_phase,
        "discriminator": model.discriminator_phase,
        "confusion": model.confusion_phase,
    }

    for epoch in range(4):
        epoch_losses = defaultdict(list)
        for minibatch in training_points[torch.randperm(len(training_points))].split(32):
            for phase_name, run_phase in phases.items():
                epoch_losses[phase_name].append(run_phase(minibatch))
        averages = {name: sum(values) / len(values) for name, values in epoch_losses.items()}
        validation_error = model.clean_reconstruction_error(validation_points)
        logger.info("epoch %d %s val %.4f", epoch, {k: round(v, 4) for k, v in averages.items()}, validation_error)

    magnitudes = [
        torch.nn.utils.parameters_to_vector(network.parameters()).abs().sum().item()
        for network in (model.encoder, model.decoder, model.latent_discriminator)
    ]
    print("RESULT", " ".join("%.6g" % value for value in [*magnitudes, averages["reconstruction"], validation_error]))


if __name__ == "__main__":
    main()
