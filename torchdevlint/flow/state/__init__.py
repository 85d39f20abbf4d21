"""What an abstract run carries: values and their joins, devices, classes, records, the state of a path."""
