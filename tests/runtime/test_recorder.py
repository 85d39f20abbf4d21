"""The recorder, what it is told, and what it says: in this process, without a backend or with `meta` as accelerator."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from torchdevlint.runtime.modules import registered_tensors

torch = pytest.importorskip("torch")

from tests.conftest import needs_fork  # noqa: E402
from torchdevlint.runtime.record import hardware, sites, variables  # noqa: E402
from torchdevlint.runtime.record.operands import Origin, stories  # noqa: E402
from torchdevlint.runtime.record.recorder import (  # noqa: E402
    UNREGISTERED,
    OperandStory,
    Recorder,
    active,
    start,
    stop,
    story_of,
)
from torchdevlint.runtime.record.sites import Site, user_line  # noqa: E402
from torchdevlint.runtime.tell import causes, naming  # noqa: E402
from torchdevlint.runtime.tell.account import Account, DeviceError, error_of, merge, read  # noqa: E402
from torchdevlint.runtime.tell.report import Paper, text, to_json  # noqa: E402
from torchdevlint.symptoms import Symptom, symptoms  # noqa: E402

HERE = __file__


def account(recorder: Recorder, status: int = 0) -> Account:
    return merge([json.loads(json.dumps(recorder.snapshot(final=True)))], status)


def accelerated(device: Any) -> bool:
    return device.type == "meta"


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(backend="simulated", accelerators=2)


@pytest.fixture
def watched(recorder: Recorder) -> Iterator[Recorder]:
    """A recorder of all that this thread does, on `meta`."""
    recorder.created_at = hardware.created_at
    restore = hardware.watch_modules(recorder, accelerated)
    try:
        with hardware.Watch(recorder, accelerated):
            yield recorder
    finally:
        restore()


class Line:
    """The line on which `with` stands."""

    def __enter__(self) -> Line:
        self.number = sys._getframe(1).f_lineno
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_the_users_line_is_that_of_the_innermost_frame() -> None:
    with Line() as here:
        site = user_line()
    assert site is not None
    assert (site.filename, site.line) == (HERE, here.number + 1)
    assert site.function.endswith("test_the_users_line_is_that_of_the_innermost_frame")
    assert user_line() is not site


def test_frames_of_torch_and_the_standard_library_are_passed_over() -> None:
    seen: list[Site | None] = []
    module = torch.nn.Identity()
    module.register_forward_hook(lambda *_: sorted([2, 1], key=lambda n: seen.append(user_line()) or n))
    module(1)
    assert [one is not None and one.filename for one in seen] == [HERE, HERE]
    thread = threading.Thread(target=lambda: seen.append(user_line()))
    thread.start()
    thread.join()
    assert seen[-1] is not None
    assert seen[-1].filename == HERE


def test_a_library_is_named_beside_the_line_that_called_it(tmp_path: Path) -> None:
    path = tmp_path / "site-packages" / "lib" / "core.py"
    path.parent.mkdir(parents=True)
    path.write_text("def call(function):\n    return function()\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with Line() as here:
        site = namespace["call"](user_line)
    assert site.line == here.number + 1
    assert site.filename == HERE
    assert site.inside is not None
    assert (site.inside.filename, site.inside.line, site.inside.function) == (str(path), 2, "call")


@pytest.mark.parametrize(
    ("filename", "kind"),
    [
        (torch.__file__, sites.INTERNAL),
        (threading.__file__, sites.INTERNAL),
        (sites.__file__, sites.INTERNAL),
        ("<frozen importlib._bootstrap>", sites.INTERNAL),
        ("<string>", sites.LIBRARY),
        (pytest.__file__, sites.LIBRARY),
        (str(Path("train.py").absolute()), sites.USER),
        ("train.py", sites.USER),
    ],
)
def test_kinds_of_files(filename: str, kind: int) -> None:
    assert sites.classify(filename) == kind


def test_a_site_is_worked_out_from_a_code_object_when_it_is_needed() -> None:
    frame = sys._getframe()
    site = sites.site_of((frame.f_code, frame.f_lasti))
    assert site is not None
    assert (site.filename, site.line) == (HERE, frame.f_lineno - 2)
    assert sites.site_of(site) is site
    assert sites.site_of(None) is None


def test_transfers_and_waits_are_added_up_by_line(recorder: Recorder) -> None:
    for number in range(3):
        recorder.moved(100, "cpu", "cuda:0", blocking=number == 0)
        recorder.synced("item")
    recorder.moved(7, "cuda:0", "cpu", True)
    got = account(recorder)
    assert [(one.count, one.bytes, one.blocking, one.target) for one in got.transfers] == [
        (3, 300, 1, "cuda:0"),
        (1, 7, 1, "cpu"),
    ]
    assert [(one.operation, one.count) for one in got.syncs] == [("item", 3), ("a copy to the CPU", 1)]


def test_threads_lose_no_event(recorder: Recorder) -> None:
    def work() -> None:
        for _ in range(500):
            recorder.moved(1, "cpu", "cuda:0", True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (transfer,) = account(recorder).transfers
    assert transfer.bytes == 2000


def raised(recorder: Recorder, words: str = "on the same device", *operands: OperandStory) -> RuntimeError:
    error = RuntimeError(words)
    recorder.failed(error, operands, "add")
    return error


def test_only_what_reaches_the_top_is_a_device_error(recorder: Recorder) -> None:
    first, second = raised(recorder, "one"), raised(recorder, "two")
    recorder.uncaught(second, "the thread T")
    recorder.uncaught(ValueError("nothing of ours"), "")
    got = account(recorder)
    assert [(one.text, one.where) for one in got.errors] == [("two", "the thread T")]
    assert [one.text for one in got.handled] == ["one"]
    assert story_of(first) is not None
    assert got.raised == 2


def test_what_is_raised_from_a_device_error_is_that_error(recorder: Recorder) -> None:
    try:
        try:
            raise raised(recorder)
        except RuntimeError as error:
            raise KeyError("step failed") from error
    except KeyError as error:
        recorder.uncaught(error, "")
    assert [one.text for one in account(recorder).errors] == ["on the same device"]


def test_a_suppressed_context_is_none_of_it(recorder: Recorder) -> None:
    try:
        try:
            raise raised(recorder)
        except RuntimeError:
            raise KeyError("unrelated") from None
    except KeyError as error:
        recorder.uncaught(error, "")
    assert not account(recorder).errors


def test_a_story_survives_pickling(recorder: Recorder) -> None:
    import pickle

    copy = pickle.loads(pickle.dumps(raised(recorder)))
    other = Recorder()
    assert other.uncaught(copy, "the pool") is not None
    got = merge([recorder.snapshot(), other.snapshot()])
    assert [(one.text, one.where, one.uncaught) for one in got.errors] == [("on the same device", "the pool", True)]
    assert not got.handled


def test_an_error_of_no_backend_is_known_by_its_text(recorder: Recorder) -> None:
    with Line() as here:
        try:
            raise TypeError(  # noqa: TRY301
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() ..."
            )
        except TypeError as error:
            recorder.uncaught(error, "")
    (told,) = account(recorder).errors
    assert told.site is not None
    assert (told.site.filename, told.site.line) == (HERE, here.number + 2)


def test_what_the_backend_cannot_do_is_no_verdict(recorder: Recorder) -> None:
    kind = type("NotSimulated", (RuntimeError,), {})
    recorder.uncaught(kind("a CUDA kernel cannot be simulated: found at least two devices"), "")
    recorder.limitation("graphs")
    got = account(recorder)
    assert not got.errors
    assert [one.text for one in got.limitations][1] == "graphs"
    assert "What could not be done as on an accelerator" in text(got, Paper())


def test_own_frames_are_cut_off_the_traceback(recorder: Recorder, tmp_path: Path) -> None:
    source = "def deep(recorder):\n    error = RuntimeError('x')\n    recorder.failed(error)\n    raise error\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, str(Path(sites.__file__).parent / "simulated" / "mode.py"), "exec"), namespace)
    try:
        namespace["deep"](recorder)
    except RuntimeError as error:
        recorder.uncaught(error, "")
        trace = error.__traceback__
    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["test_own_frames_are_cut_off_the_traceback"]


def test_a_defect_of_ours_shows_all_its_frames(recorder: Recorder) -> None:
    try:
        hardware.install(recorder, "cpu")
    except RuntimeError as error:
        recorder.uncaught(error, "")
        assert error.__traceback__ is not None  # noqa: PT017
        assert error.__traceback__.tb_next is not None  # noqa: PT017


def test_an_event_from_a_finaliser_does_not_block(recorder: Recorder) -> None:
    with recorder.lock:
        recorder.moved(1, "cpu", "cuda:0", True)
    assert len(account(recorder).transfers) == 1


def test_the_number_of_errors_is_bounded(recorder: Recorder) -> None:
    for number in range(80):
        raised(recorder, f"error {number}")
    got = account(recorder)
    assert (len(got.handled), got.raised) == (50, 80)


def test_a_record_is_a_file_of_its_process(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "simulated", 2)
    raised(recorder)
    (file,) = tmp_path.iterdir()
    assert not json.loads(file.read_text())["final"]
    recorder.finish(KeyError("end"))
    (tmp_path / "broken.json").write_text("{")
    (record,) = read(tmp_path)
    assert record["final"]
    assert record["ending"] == "KeyError: 'end'"


@needs_fork
def test_a_fork_starts_a_record_of_its_own(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.moved(5, "cpu", "cuda:0", True)
    child = os.fork()
    if not child:
        recorder.moved(1, "cpu", "cuda:0", True)
        recorder.write(final=True)
        os._exit(0)
    os.waitpid(child, 0)
    recorder.write(final=True)
    assert sorted(record["transfers"][0]["bytes"] for record in read(tmp_path)) == [1, 5]


def test_the_active_recorder() -> None:
    recorder = start(Recorder())
    assert active() is recorder
    stop(recorder)
    stop(recorder)
    assert active() is not recorder


def test_a_folder_that_is_gone_is_no_error_of_the_program(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "gone")
    raised(recorder)
    recorder.finish()


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.mask = torch.ones(2)
        self.replaced = torch.ones(2)
        self.layers = [torch.nn.Linear(2, 2)]
        self.table = {"a": (torch.zeros(3),)}
        self.shared = self.linear.weight


def paths(recorder: Recorder) -> list[str]:
    return [one.path for one in account(recorder).stragglers]


def test_what_a_module_leaves_behind(watched: Recorder) -> None:
    net = torch.nn.Sequential(Net())
    net.to("meta")
    net[0].replaced = net[0].replaced.to("meta")
    assert paths(watched) == ["0.layers[0]", "0.mask", "0.table['a'][0]"]
    mask = account(watched).stragglers[1]
    assert (mask.kind, mask.device, mask.shape) == ("tensor", "meta", (2,))
    assert mask.created is not None
    assert mask.created.function == "Net.__init__" or sys.version_info < (3, 11)


class Rated(torch.nn.Module):
    """It has something else under the names by which a Module lists what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.parameters = [0.1, 0.2]
        self.buffers = None
        self.modules = "none"
        self.mask = torch.ones(2)


def test_a_class_may_use_the_names_of_module_for_something_else(watched: Recorder) -> None:
    net = Rated()
    net.to("meta")
    assert paths(watched) == ["mask"]
    assert [each.shape for each in registered_tensors(net)] == [(2, 2), (2,)]


def test_what_died_with_its_module_was_left_behind(watched: Recorder) -> None:
    net = Net()
    net.to("meta")
    net.replaced = net.replaced.to("meta")
    net.table = {}
    del net
    assert paths(watched) == ["layers[0]", "mask"]


def test_what_is_made_after_the_move_counts_and_what_is_moved_later_does_not(watched: Recorder) -> None:
    net = torch.nn.Linear(2, 2)
    net.to("meta")
    net.late = torch.ones(1)
    net.there = torch.ones(1).to("meta")
    assert paths(watched) == ["late"]
    net.late = net.late.to("meta")
    assert not paths(watched)


def test_a_dispatch_mode_sees_transfers_and_errors(watched: Recorder) -> None:
    here = torch.ones(4)
    there = here.to("meta")
    there.copy_(here)
    with pytest.raises(RuntimeError) as caught:
        there + here
    story = story_of(caught.value)
    assert story is not None
    told = error_of(story)
    assert told.operation == "aten::add"
    assert [(one.variable, one.device, one.shape, one.how) for one in told.operands] == [
        ("there", "meta", (4,), "ones"),
        ("here", "cpu", (4,), "ones"),
    ]
    assert [one.moved is not None for one in told.operands] == [True, False]
    assert sorted((one.source, one.target, one.bytes) for one in account(watched).transfers) == [
        ("cpu", "meta", 16),
        ("cpu", "meta", 16),
    ]


def test_a_wait_is_seen_on_what_counts_as_an_accelerator(recorder: Recorder) -> None:
    with hardware.Watch(recorder, lambda device: device.type == "cpu"):
        torch.ones(1).item()
        torch.ones(3).nonzero()
    assert sorted(one.operation for one in account(recorder).syncs) == [
        "nonzero, or an index by a mask",
        "the value of one element, as in .item()",
    ]


def test_names_of_watched_operators_exist() -> None:
    for name in hardware.WAITING:
        assert hasattr(torch.ops.aten, name.removeprefix("aten::")), name


def test_operands_have_the_names_of_the_schema() -> None:
    tensors = [torch.ones(1), torch.ones(2)]
    told = stories(torch.ops.aten.cat.default, (tensors, 0), {}, lambda tensor: Origin(str(tensor.device)))
    assert [(one.name, one.shape) for one in told] == [("tensors[0]", (1,)), ("tensors[1]", (2,))]


def story(path: Path, device: str, row: int, name: str = "self", **more: Any) -> OperandStory:
    return OperandStory(name, device, more.pop("shape", (3,)), "float32", Site(str(path), row, ""), "zeros", **more)


def failed(path: Path, row: int, *operands: OperandStory, words: str = "", operation: str = "add") -> DeviceError:
    words = words or "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    return DeviceError("RuntimeError", words, operation, Site(str(path), row, "f"), operands, True)


def written(folder: Path, source: str) -> Path:
    path = folder / "train.py"
    path.write_text(dedent(source))
    return path


def test_the_linters_own_finding_is_the_cause(tmp_path: Path) -> None:
    path = written(tmp_path, "import torch\n\n\ndef f(x: torch.Tensor):\n    m = torch.zeros(3)\n    return x * m\n")
    error = failed(path, 6, story(path, "cuda:0", 1), story(path, "cpu", 5, "other"))
    found = causes.cause(error)
    assert found.code == "TDL014"
    assert found.diagnostic is not None
    assert found.diagnostic.span.row == 5
    assert found.fix == found.diagnostic.help


SITUATIONS = """
import torch
from helpers import Base, unknown


class Net(Base):
    def __init__(self):
        self.t = unknown()

    def step(self, x):
        t = unknown()
        return x + t


class Layer(torch.nn.Module):
    def __init__(self):
        self.t = unknown()

    def forward(self, x):
        t = unknown()
        return x + t


def f(x):
    t = unknown()
    return x + t


class Data:
    def __getitem__(self, index):
        return unknown()
"""


@pytest.mark.parametrize(
    ("row", "more", "code"),
    [
        (17, {}, "TDL101"),
        (20, {}, "TDL003"),
        (17, {"owner": UNREGISTERED}, "TDL102"),
        (17, {"owner": "parameter"}, None),
        (2, {"variable": 'optimizer.state[...]["exp_avg"]'}, "TDL203"),
        (17, {"lost": Site("x.py", 1, "")}, "TDL001"),
        (2, {}, None),
        (8, {}, None),
    ],
)
def test_without_a_finding_the_situation_names_the_rule(
    row: int, more: dict[str, Any], code: str | None, tmp_path: Path
) -> None:
    path = written(tmp_path, SITUATIONS)
    found = causes.cause(failed(path, 2, story(path, "cuda:0", 2), story(path, "cpu", row, "other", **more)))
    assert (found.code, found.diagnostic) == (code, None)
    assert found.fix


def test_the_batch_of_a_loader_and_a_factory_beside_an_argument(tmp_path: Path) -> None:
    path = written(tmp_path, SITUATIONS)
    batch = replace(story(path, "cpu", 31), created=Site(str(path), 31, "Data.__getitem__"))
    assert causes.cause(failed(path, 2, batch, story(path, "cuda:0", 2))).code == "TDL005"
    local = replace(story(path, "cpu", 25), created=Site(str(path), 25, "f"))
    assert causes.cause(failed(path, 26, story(path, "cuda:0", 2), local)).code == "TDL014"


@pytest.mark.parametrize("symptom", [one for one in symptoms() if one.sure], ids=lambda one: one.name)
def test_a_text_that_says_which_rule_it_is_leads_to_that_rule(symptom: Symptom, tmp_path: Path) -> None:
    for wording in symptom.wordings:
        found = causes.cause(failed(tmp_path / "none.py", 1, words=wording.example))
        assert (found.code, found.fix) == (symptom.rules[0], symptom.help)


def test_operands_get_the_names_that_they_have_in_the_source(tmp_path: Path) -> None:
    path = written(tmp_path, "y = é(1) + bias\ntotal += loss\na < b\n")
    pair = (OperandStory("self", "cuda:0"), OperandStory("other", "cpu"))

    def names(row: int, column: int, end: int) -> list[str]:
        return [one.variable for one in naming.named(pair, Site(str(path), row, "", column, row, end))]

    assert names(1, 4, 16) == ["é(1)", "bias"]
    assert names(2, 0, 13) == ["total", "loss"]
    assert names(3, 0, 5) == ["a", "b"]
    assert names(1, 4, 9) == ["", ""]
    assert naming.named(pair, Site(str(path), 9, "")) == pair
    swapped = naming.named(pair[::-1], Site(str(path), 3, "", 0, 3, 5))
    assert [(one.name, one.variable) for one in swapped] == [("other", "b"), ("self", "a")]


MOVES = """
x.to(device)
y = f(x.to(device))
x.to(device).float()
for t in (x, y):
    t = t.to(device)
for t in (x, y):
    t = t.to(device)
    f(t)
[t.cuda() for t in (x, y)]
"""


@pytest.mark.parametrize(
    ("row", "column", "vain"),
    [(2, 0, True), (3, 6, False), (4, 0, True), (6, 8, True), (8, 8, False), (10, 1, True), (99, 0, False)],
)
def test_only_a_move_that_nothing_gets_is_thrown_away(row: int, column: int, vain: bool, tmp_path: Path) -> None:
    path = written(tmp_path, MOVES)
    assert naming.thrown_away(Site(str(path), row, "", column, row, column + 5)) is vain


MADE = """
x = torch.zeros(2)
x = torch.zeros(2, device="cpu")
x = torch.load("x.pt", weights_only=True)
x = torch.load("x.pt", map_location="cpu")
x = y.exp()
"""


@pytest.mark.parametrize(
    ("row", "how", "more"),
    [
        (2, "zeros", ", or create it with `device=y.device`"),
        (3, "zeros", ""),
        (4, "load", ", or load it with `map_location=y.device`"),
        (5, "load", ""),
        (6, "exp", ""),
    ],
)
def test_nobody_is_told_to_write_what_the_line_has(row: int, how: str, more: str, tmp_path: Path) -> None:
    path = written(tmp_path, MADE)
    end = len(MADE.splitlines()[row - 1])
    stray = OperandStory("other", "cpu", created=Site(str(path), row, "", 4, row, end), how=how, variable="x")
    found = causes.cause(failed(path, 6, OperandStory("self", "cuda:0", variable="y"), stray))
    assert found.fix == f"move it: `x = x.to(y.device)`{more}"


class Holder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 2))
        self.apart = [torch.nn.Linear(2, 2)]
        self.register_buffer("scale", torch.ones(2))


def test_operands_are_called_what_the_users_code_calls_them() -> None:
    net = Holder()
    batch = {"ids": torch.ones(2), 3: [torch.zeros(1)], net: torch.ones(1)}
    x = torch.ones(2, 2)
    tensors = (x.t(), batch["ids"], batch[3][0], batch[net], net.layers[0].weight, net.scale)
    tensors = (*tensors, net.apart[0].bias, torch.ones(1))
    ask = functools.partial(variables.named, [OperandStory("self", "cpu")] * len(tensors), tensors)
    del tensors
    assert [(one.variable, one.owner) for one in ask()] == [
        ("x", ""),
        ('batch["ids"]', ""),
        ("batch[3][0]", ""),
        ("batch[...]", ""),
        ("net.layers[0].weight", "parameter"),
        ("net.scale", "buffer"),
        ("net.apart[0].bias", UNREGISTERED),
        ("", ""),
    ]


def test_the_report_holds_no_control_characters_and_escapes_paths(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m.py"
    error = failed(path, 1, replace(story(path, "cpu", 1), name="\x1b]0;"), words="on the same device\x07\nmore")
    report = text(Account("simulated", 2, "2.13", 1, errors=(error,)), Paper())
    assert report.isprintable() or not set(report) - {"\n"} & {"\x1b", "\x07"}
    assert "\\x1b" in report


def test_json_of_an_account_is_json(recorder: Recorder, watched: Recorder) -> None:
    raised(recorder)
    got = account(recorder, status=3)
    data = json.loads(json.dumps(to_json(got, ["train.py"], 3, 3)))
    assert data["errors"][0]["where"] == "caught by the program, which then ended with exit code 3"
    assert json.loads(json.dumps(to_json(Account(), [], 0, 0)))["torch"] is None


def test_what_a_worker_has_caught_is_told_where_it_was_raised(recorder: Recorder) -> None:
    from torch._utils import ExceptionWrapper

    def item() -> None:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA\nwith more words")

    try:
        with Line() as here:
            item()
    except RuntimeError:
        caught = ExceptionWrapper(where="in DataLoader worker process 0")
    try:
        caught.reraise()
    except RuntimeError as error:
        recorder.uncaught(error, "")
    (told,) = account(recorder).errors
    assert (told.site.filename, told.site.line) == (HERE, here.number - 3)
    assert told.site.function == "item"
    assert told.text == "Cannot re-initialize CUDA in forked subprocess. To use CUDA\nwith more words"
    assert told.where == "DataLoader worker process 0"


def test_an_error_that_only_looks_like_one_of_a_worker_is_told_as_it_is(recorder: Recorder) -> None:
    said = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    text = f"Caught it in x.\nOriginal Traceback (most recent call last):\n{said}"
    recorder.uncaught(RuntimeError(text), "")
    (told,) = account(recorder).errors
    assert (told.text, told.where) == (text, "")


def test_threads_are_watched_as_well(watched: Recorder) -> None:
    restore = hardware.watch_threads(lambda: hardware.Watch(watched, accelerated))
    try:
        thread = threading.Thread(target=lambda: torch.ones(4).to("meta"))
        thread.start()
        thread.join()
    finally:
        restore()
    (one,) = account(watched).transfers
    assert (one.source, one.target, one.bytes) == ("cpu", "meta", 16)
    thread = threading.Thread(target=lambda: torch.ones(4).to("meta"))
    thread.start()
    thread.join()
    assert [one.count for one in account(watched).transfers] == [1]
