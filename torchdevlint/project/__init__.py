"""The other files of a project: where an import leads, and what a module binds. Nothing is imported or executed."""
