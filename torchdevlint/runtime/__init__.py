"""The runtime harness: shows what the rules claim, on the hardware that is there or on simulated accelerators.

`start` starts a program and begins the record in each of its processes, `record` notes what happens there, and `tell`
reports it: together `torchdevlint run` and the pytest plugin. `simulated` makes a CPU build behave as a machine with
accelerators, and `truth` is the table that it is held against.

`verify` gives findings their verdicts: it asks processes that run `execute` (`server`, for the code of a finding) or
`worker` (started by `child`, for the rules' probes), and judges what they saw. `backends` says what there is to run on.

torch is imported here and nowhere else, and only in processes that execute something.
"""
