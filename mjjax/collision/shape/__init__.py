"""What a geom is for the narrow phase, and what it finds."""
