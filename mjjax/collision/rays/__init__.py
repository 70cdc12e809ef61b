"""Rays, which are half lines, and the surfaces that they meet."""
