"""Assets: meshes, height fields, textures and materials."""
