"""Pairs of primitive shapes in closed form."""
