"""`findings` and `lint_to_parquet`: inputs to rows and to a table, over the workers of Dask."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from dask.bag import Bag, from_sequence
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster, as_completed, get_client
from distributed.scheduler import KilledWorker
from msgspec import Struct

from torchdevlint import select
from torchdevlint.config import Settings
from torchdevlint.integrations.dask.parts import Done, give_up, make, run_name
from torchdevlint.integrations.dask.rows import Row, rows_of

Paths: TypeAlias = Iterable[str | os.PathLike[str]] | Bag
"""Folders, archives (``.tar``, ``.tar.gz``, ``.tgz``, ``.zip``, ``.whl``) and single files, as workers see them."""


class Summary(Struct, frozen=True):
    """What a run of `lint_to_parquet` has come to; all of it is read from the table.

    `table` is the folder of the table, `inputs` how many different inputs there are in it of those that were given,
    of which `linted` were linted by this run. `seconds` is the time that linting took, summed over workers and runs.
    `errors` are pairs of an input and what could not be done in it.
    """

    table: Path
    inputs: int
    linted: int
    findings: int
    files: int
    lines: int
    seconds: float
    errors: tuple[tuple[str, str], ...]


def findings(inputs: Paths, settings: Settings | None = None) -> Bag:
    """The rows of all inputs, as dicts with the keys of `COLUMNS`, one partition for each input of a sequence.

    Nothing is linted before the bag is computed. An input that cannot be linted is a row with its error. A worker that
    dies is left to the scheduler. Raises ConfigError for settings with a code that no rule has.
    """
    settings = _checked(settings)
    bag = inputs if isinstance(inputs, Bag) else from_sequence(_names(inputs), partition_size=1)
    return bag.map(partial(_rows, settings=settings)).flatten()


def lint_to_parquet(
    inputs: Paths, folder: str | os.PathLike[str], settings: Settings | None = None, workers: int = 0
) -> Summary:
    """Lint all inputs, and have a table of their rows below `folder`, one Parquet file an input.

    The workers are those of the current Dask client; where there is none, `workers` processes of this machine (0: as
    many as it has cores), for the time of this call. All must see the paths and `folder`. An input whose content has
    been linted by this release with these settings is not linted again. Of one whose worker dies, the file that did
    it is left out and told. Raises ConfigError for settings with a code that no rule has, and OSError where `folder`
    cannot be written to.
    """
    settings = _checked(settings)
    names = list(dict.fromkeys(inputs.compute() if isinstance(inputs, Bag) else _names(inputs)))
    table = Path(folder).absolute() / run_name(settings)
    work = table / f"_work-{uuid.uuid4().hex}"
    work.mkdir(parents=True)
    try:
        with _client(min(workers or CPU_COUNT, len(names) or 1)) as client:
            done = dict(_all_done(client, names, str(table), str(work), settings))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    fresh = {each.part for each in done.values() if each.fresh}
    different = {each.part: each for each in done.values()}.values()
    return Summary(
        table=table,
        inputs=len(different),
        linted=len(fresh),
        findings=sum(each.findings for each in different),
        files=sum(each.files for each in different),
        lines=sum(each.lines for each in different),
        seconds=sum(each.seconds for each in different),
        errors=tuple((name, error) for name in names for error in done[name].errors),
    )


def _all_done(
    client: Client, names: list[str], folder: str, work: str, settings: Settings
) -> Iterator[tuple[str, Done]]:
    """Each input with what its part says.

    When a worker dies, the scheduler holds that against all that was sent to it. So what it has given up is tried
    again alone, where a death is the input's own.
    """
    task = partial(make, folder=folder, work=work, settings=settings)
    futures = client.map(task, names, pure=False)
    called = {future.key: name for name, future in zip(names, futures, strict=True)}
    alone = []
    for future in as_completed(futures):
        name = called[future.key]
        try:
            yield name, future.result()
        except KilledWorker:
            alone.append(name)
    for name in alone:
        try:
            yield name, client.submit(task, name, pure=False).result()
        except KilledWorker:
            yield name, give_up(name, folder, work)


@contextmanager
def _client(workers: int) -> Iterator[Client]:
    """The current client, or that of processes of this machine, which end with the context."""
    try:
        current = get_client()
    except ValueError:
        current = None
    if current is not None:
        yield current
        return
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        yield client


def _names(inputs: Iterable[str | os.PathLike[str]]) -> list[str]:
    return [os.fspath(each) for each in inputs]


def _rows(path: str | os.PathLike[str], settings: Settings) -> list[Row]:
    return rows_of(os.fspath(path), settings)


def _checked(settings: Settings | None) -> Settings:
    settings = Settings() if settings is None else settings
    select.check(settings)
    return settings
