"""How the rules quote code in their sentences. Not a rule."""

from __future__ import annotations

LONGEST = 60
_BETWEEN_OPERANDS = frozenset(" +-*/%@&|^~<>=")


def code(text: str) -> str:
    """`text` in backticks and on one line; what is longer than `LONGEST` characters loses its middle."""
    line = " ".join(text.split())
    if len(line) > LONGEST:
        half = (LONGEST - 3) // 2
        line = f"{line[:half]}...{line[-half:]}"
    return f"`{line}`"


def is_on(text: str, device: str) -> str:
    """Where code is, in words: "`x.mean()` is on the device of `x`"; of `x` this would say nothing."""
    if device == f"the device of `{text}`":
        return f"{code(text)} may be on another device"
    return f"{code(text)} is on {device}"


def edit(text: str) -> str:
    """Code to be typed as it stands: in backticks and on one line, however long."""
    return f"`{' '.join(text.split())}`"


def operand(text: str) -> str:
    """`text` as something that a method can be called on: in parentheses, if an operator is outside of brackets."""
    depth = 0
    for character in " ".join(text.split()):
        depth += (character in "([{") - (character in ")]}")
        if character in _BETWEEN_OPERANDS and depth == 0:
            return f"({text})"
    return text


def with_argument(call: str, argument: str) -> str | None:
    """The text of `call` with one more argument at its end, or None if that cannot be written on one line."""
    if "\n" in call or "#" in call or not call.endswith(")") or len(call) + len(argument) > 100:
        return None
    inside = call[:-1].rstrip().removesuffix(",")
    return f"{inside}{argument})" if inside.endswith("(") else f"{inside}, {argument})"
