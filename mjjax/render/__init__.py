"""Pictures: rays through the pixels of a camera, light, colours, textures."""
