"""The room of the machine: what exists because of how XLA, threads and GPUs work.

Two array libraries behind one name, products and sums in the forms that run fast, indexing by
static lists, factors and their kernels, rules of batching, loops over many worlds, threads,
compiling. Nothing here knows of bodies, joints or contacts; what is computed is said elsewhere.
"""
