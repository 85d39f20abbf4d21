"""Transfer functions of calls: of functions of the file, of libraries, of methods, and of what is not known."""
