"""Workers that are ended at once: nothing waits for what one of them had begun to say."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from tests.conftest import ROOT

GIVES_UP = """
    import os
    import struct
    import time

    from torchdevlint import pool

    if __name__ == "__main__":
        try:
            with pool._pool(1) as workers:
                workers.submit(time.sleep, 600)
                os.write(workers._result_queue._writer.fileno(), struct.pack("!i", 100) + b"the beginning of a result")
                time.sleep(0.5)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            print("gone")
"""


def test_a_worker_may_be_in_the_middle_of_a_result_when_it_is_ended() -> None:
    """What it has written so far is what the thread of the pool waits for the rest of."""
    program = [sys.executable, "-c", dedent(GIVES_UP)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "gone\n"), done.stderr
