"""What is called with its frames in one piece of memory is called as ever."""

import sys

import pytest

from torchdevlint.frames import in_one_piece


@in_one_piece
def depth(levels: int, *, end: int = 0) -> int:
    """How deep it goes."""

    def below(left: int) -> int:
        return end if not left else 1 + below(left - 1)

    return below(levels)


def test_it_gives_what_the_function_gives() -> None:
    assert depth(500, end=2) == 502
    assert depth.__doc__ == "How deep it goes."


def test_what_is_raised_in_it_is_raised() -> None:
    with pytest.raises(RecursionError):
        depth(2 * sys.getrecursionlimit())
    assert depth(1) == 1, "it can be called again"


def test_it_can_be_called_inside_itself() -> None:
    @in_one_piece
    def outer(levels: int) -> int:
        return depth(levels) + depth(levels)

    assert outer(300) == 600


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.version_info < (3, 11), reason="frames are kept elsewhere"
)
def test_its_own_frame_makes_python_ask_for_a_large_piece() -> None:
    taken = 8 * depth.__wrapped__.__code__.co_stacksize, 8 * depth.__code__.co_stacksize  # type: ignore[attr-defined]
    assert taken[0] < 16_384 < 524_288 - 8_000 < taken[1] < 1_048_576
