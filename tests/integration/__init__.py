"""What writer and store promise together, with histories that nobody wrote by hand."""
