"""The narrow phase of all worlds: candidates in one queue."""
