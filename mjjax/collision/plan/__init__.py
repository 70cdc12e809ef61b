"""Which pairs of geoms may collide, by which function, and how much room they take."""
