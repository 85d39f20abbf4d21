"""Some of a batch of images, chosen by their probabilities."""

import sys

import torch
from tormentor.static_image_augmentation import Identity

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
images = torch.rand(4, 3, 8, 8, device=device)
chosen, _ = Identity().forward_img_counterfactuals(images, torch.rand(4, device=device), nb_samples=2)
print(chosen.shape)
