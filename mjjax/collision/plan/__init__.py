"""Plans which pairs of geoms may collide, by which kernel, and with how many contact slots."""
