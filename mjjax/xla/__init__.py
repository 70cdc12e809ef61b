"""Code that exists because of how XLA, threads and GPUs work.

This folder has two array libraries behind one name, products and sums in the forms that run fast,
indexing by static lists, factors and their kernels, batching rules, loops over many worlds, threads
and compiling. Nothing here knows of bodies, joints or contacts: other folders say what is computed.
"""
