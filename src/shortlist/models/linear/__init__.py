"""What linear models are made of: inputs as one matrix, and softmax regression."""
