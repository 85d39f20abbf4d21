"""The language server: what `check` finds, in an editor and while one types. Needs pygls, the extra ``lsp``."""
