"""flake8 with its own checkers and this plugin alone, whatever else is installed: others can take most of the time."""

from importlib import metadata

_installed = metadata.distributions
metadata.distributions = lambda **how: (  # type: ignore[assignment]
    each for each in _installed(**how) if each.metadata["name"] in ("flake8", "torchdevlint")
)

if __name__ == "__main__":
    from flake8.main.cli import main

    raise SystemExit(main())
