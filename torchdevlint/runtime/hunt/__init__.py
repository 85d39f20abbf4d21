"""Executes what can be imported of a project, unasked: what runs on the CPU and fails on an accelerator is a bug."""
