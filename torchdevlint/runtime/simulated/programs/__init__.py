"""What programs do around tensors: threads, processes, several devices, compilers."""
