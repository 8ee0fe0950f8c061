"""How machine code is called: by functions, for one sample, for batches, on threads."""
