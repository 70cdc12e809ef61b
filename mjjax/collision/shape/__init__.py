"""Geoms as the narrow phase sees them, and the contacts that it finds."""
