"""Compares derivatives with differences, stage by stage, and reports on them."""
