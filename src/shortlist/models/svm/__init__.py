"""What the paper's SVM is made of: probabilities from pairs of classes."""
