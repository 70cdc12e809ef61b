"""Measures mjjax and, where installed, its peers in the same process: `python -m benchmarks`."""
