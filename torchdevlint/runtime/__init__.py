"""The runtime harness: shows on the hardware that is there what the rules claim.

`verify` executes. Everything that is executed runs in a child process (`worker`) that `child` starts, watches and
ends; torch is imported there and nowhere else. `probe` reads the small programs that rules carry, `backends` says what
there is to run them on, and `verdict` judges what happened.
"""
