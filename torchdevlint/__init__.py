"""A static linter for PyTorch device-placement bugs, and a harness that runs what it flags."""

__version__ = "0.1.0"
