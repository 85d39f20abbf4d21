"""A forked worker moves its samples to the GPU that its parent uses already."""

# rule: TDL307
import torch
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class OnDevice(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index)).to(device)  # dies here: "Cannot re-initialize CUDA in forked subprocess"


if __name__ == "__main__":
    weights = torch.ones(2, device=device)
    loader = DataLoader(OnDevice(), batch_size=2, num_workers=1, multiprocessing_context="fork")
    print(sum((batch * weights).sum().item() for batch in loader))
