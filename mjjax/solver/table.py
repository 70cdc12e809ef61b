"""The solvers by their names."""

from mjjax.core.enums import SolverType
from mjjax.solver.cg import CG
from mjjax.solver.method import Method
from mjjax.solver.newton import NEWTON
from mjjax.solver.pgs import PGS

METHODS: dict[SolverType, Method] = {
    SolverType.PGS: PGS,
    SolverType.CG: CG,
    SolverType.NEWTON: NEWTON,
}
