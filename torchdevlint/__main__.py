"""``python -m torchdevlint`` is the console script."""

from torchdevlint.cli import main

if __name__ == "__main__":
    main()
