"""Small worlds with a right answer: faults that users of other memories met, as tests, on every engine."""
