"""The runtime harness: shows what the rules claim, on the hardware that is there or on simulated accelerators.

`start` starts a program and begins the record in each of its processes, `record` notes what happens there, and `tell`
reports it: together `torchdevlint run` and the pytest plugin. `simulated` makes a CPU build behave as a machine with
accelerators, and `truth` is the table that it is held against.

`verify` executes the rules' probes in child processes (`worker`) that `child` starts, watches and ends. `probe` reads
the small programs that rules carry, `backends` says what there is to run them on, `verdict` judges what happened.

torch is imported here and nowhere else, and only in processes that execute something.
"""
