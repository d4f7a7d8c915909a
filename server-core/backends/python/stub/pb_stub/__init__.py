"""The Python side of the server's `python` backend. Needs Python 3.8 and numpy 1.24, nothing else."""
