"""Random small graphs, run by Lanner and by others, and compared. The command is run.py."""
