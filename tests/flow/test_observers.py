"""Who is told of which events: checks that need words are told of nothing in files without them."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from torchdevlint.flow import checks
from torchdevlint.flow.events import FileEnded, LibraryReturned, MethodCalled
from torchdevlint.flow.observers import Looking, Observers

CHECK = "torchdevlint.flow.checks.forgotten.left_of_alike"


@pytest.mark.parametrize(
    ("text", "told"), [("x = x.to(d)", True), ("x = x.cuda()", True), ("x = x.cpu()", False), ("", False)]
)
def test_a_check_is_told_of_events_in_files_that_say_one_of_its_words(text: str, told: bool) -> None:
    observers = Observers([Looking(CHECK, {"EVENTS": ("FileEnded",), "SAYING": (".to(", ".cuda(")})], with_checks=False)
    assert bool(observers.in_file(text)(FileEnded)) is told


def test_without_words_it_is_told_of_all() -> None:
    observers = Observers([Looking(CHECK, {"EVENTS": ("FileEnded",)})], with_checks=False)
    assert observers.in_file("")(FileEnded)


def test_tables_that_go_by_names_are_asked_in_every_file() -> None:
    observers = Observers(with_checks=False)
    assert [len(observers.in_file("")(kind)) for kind in (LibraryReturned, MethodCalled, FileEnded)] == [1, 1, 0]


def test_words_are_for_checks_that_are_told_of_events() -> None:
    """What goes by names is asked in every file. A word with a space would be two in the index."""
    modules = [import_module(each.name) for each in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}.")]
    saying = [each for each in modules if hasattr(each, "SAYING")]
    assert saying
    assert all(hasattr(each, "EVENTS") and all(word and " " not in word for word in each.SAYING) for each in saying)
