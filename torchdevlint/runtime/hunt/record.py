"""The record of a hunt: a line of JSON for each target that is done. A hunt that was ended goes on from there."""

from __future__ import annotations

from pathlib import Path

import msgspec

from torchdevlint import __version__
from torchdevlint.config import ConfigError
from torchdevlint.runtime.hunt.findings import Hunted
from torchdevlint.runtime.hunt.machines import Order
from torchdevlint.runtime.hunt.targets import Target


class Record:
    """A file that knows which targets are done. Raises ConfigError if it is one of another hunt."""

    def __init__(self, file: Path, order: Order, torch: str) -> None:
        self.file = file
        self.known: dict[Target, Hunted] = {}
        head = msgspec.json.encode(
            {
                "torchdevlint": __version__,
                "torch": torch,
                "root": order.project.root,
                "tries": order.tries,
                "modes": order.modes,
                "seconds": order.limits.seconds,
                "command": order.command,
            }
        )
        try:
            lines = file.read_bytes().split(b"\n")
        except FileNotFoundError:
            self._add(head)
            return
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from error
        if lines[0] != head:
            raise ConfigError(f"{file}: the record of another hunt (version, torch, path or options differ)")
        for line in lines[1:]:
            try:
                hunted = msgspec.json.decode(line, type=Hunted)
            except msgspec.DecodeError:
                continue  # the last line of a hunt that was ended while it wrote it
            self.known[hunted.target] = hunted
        if lines[-1]:
            self._add(b"")

    def add(self, hunted: Hunted) -> None:
        """Write that a target is done."""
        self._add(msgspec.json.encode(hunted))

    def _add(self, line: bytes) -> None:
        try:
            with self.file.open("ab") as stream:
                stream.write(line + b"\n")
        except OSError as error:
            raise ConfigError(f"{self.file}: cannot be written: {error.strerror or error}") from error


def installed_torch() -> str:
    """The version of torch, which is not imported."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch")
    except PackageNotFoundError:
        return ""
