"""Many processes on one file, and processes that die: nothing that was acknowledged is lost, nothing is half there."""
