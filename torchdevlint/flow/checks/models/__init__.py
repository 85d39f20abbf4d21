"""Models and parts of them that are where they were made (TDL004)."""
