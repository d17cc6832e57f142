"""A campaign that people are answering: leases, answers, the worker, control questions, numbers."""
