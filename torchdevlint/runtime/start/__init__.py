"""How a program is started, and how the record begins in each of its processes as soon as torch is imported."""
