"""Signed distance fields."""
