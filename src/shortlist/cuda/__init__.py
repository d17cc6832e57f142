"""Kernels for CUDA devices. A file each for what the plain version does with the same name one folder up."""
