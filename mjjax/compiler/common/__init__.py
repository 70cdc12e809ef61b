"""What every part of the compiler reads: names, the tree of bodies, tables of fields."""
