"""What touches the machine and knows nothing of labelling: files, digests, threads, progress, extras."""
