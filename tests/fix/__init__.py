"""Tests of `torchdevlint.fix`."""
