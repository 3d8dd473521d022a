"""Random small graphs, run by Lanner and by reference implementations, and compared. The command is run.py."""
