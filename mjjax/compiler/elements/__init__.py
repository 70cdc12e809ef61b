"""Elements of the world and what refers to them, one module per kind."""
