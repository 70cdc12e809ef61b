"""Elements of the world and elements that refer to them, with one module per kind."""
