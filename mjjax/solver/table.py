"""The solvers by their names."""

from typing import Any

from mjjax.core.enums import SolverType
from mjjax.solver.cg import ConjugateGradients
from mjjax.solver.method import Method
from mjjax.solver.newton import Newton
from mjjax.solver.pgs import ProjectedGaussSeidel

METHODS: dict[SolverType, Method[Any, Any]] = {
    SolverType.PGS: ProjectedGaussSeidel(),
    SolverType.CG: ConjugateGradients(),
    SolverType.NEWTON: Newton(),
}
