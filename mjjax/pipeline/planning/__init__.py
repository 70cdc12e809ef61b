"""Derivatives of a step as matrices, and plans of controls that are improved with them."""
