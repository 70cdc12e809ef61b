"""The version of mjjax, and the constants of MuJoCo 3.6.0 that decide results."""

VERSION = "0.1.0"  # in the package's metadata and in the files it writes

MINVAL = 1e-15  # smallest number that may stand in a denominator
MINMU = 1e-5  # smallest friction coefficient
MINIMP = 1e-4  # smallest constraint impedance
MAXIMP = 0.9999  # largest constraint impedance
MAXVAL = 1e10  # a state beyond this counts as diverged
MAXCONPAIR = 50  # contacts of a pair of geoms
NGROUP = 6
NREF = 2
SOLREF = (0.02, 1.0)  # default time constant [s] and damping ratio
NIMP = 5
NDYN = NGAIN = NBIAS = 10
NEQDATA = 11
NFLUID = 12
