"""What is noted in the processes of a program: device errors, transfers, waits, what is left behind, and where."""
