"""What ends a command before it has done anything: one line for the user, and exit code 2."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 (what is wrong is not here)
    """The command line or the configuration cannot be used; one line says why."""

    def __init__(self, message: str, usage: str = "") -> None:
        """With the `usage` of the command, if that is what the user has to look at."""
        super().__init__(message)
        self.usage = usage


class Misused(Refused):
    """The flags of a command do not fit together; the answer begins with its usage."""
