"""From text to the stdlib's `ast`, for syntax newer than the running interpreter too."""
