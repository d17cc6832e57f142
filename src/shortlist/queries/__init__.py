"""Query designs: what turns probabilities into a Plan. One file each."""
