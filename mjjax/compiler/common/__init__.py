"""Modules that every part of the compiler uses: names, the tree of bodies, tables of fields."""
