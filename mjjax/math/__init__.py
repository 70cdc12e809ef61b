"""Functions of MuJoCo's math library (`mju_*`) for JAX arrays: jit, vmap and differentiate them.

Each function names its counterpart in MuJoCo. Shapes are those of one case; `(..., n)` allows any
leading axes. `quat` is a module with functions of unit quaternions.
"""

from mjjax.math import quat
from mjjax.math.factor import (
    Band,
    band_diag,
    band_mul_mat_vec,
    band_to_dense,
    chol_factor_band,
    chol_solve_band,
    chol_update,
    dense_to_band,
    eig3,
)
from mjjax.math.misc import decode_pyramid, encode_pyramid, halton, spring_damper
from mjjax.math.quadratic import BoxQP, BoxQPSettings, box_qp
from mjjax.math.spatial import mul_pose, neg_pose, transform_spatial, trn_vec_pose

__all__ = [
    "Band",
    "BoxQP",
    "BoxQPSettings",
    "band_diag",
    "band_mul_mat_vec",
    "band_to_dense",
    "box_qp",
    "chol_factor_band",
    "chol_solve_band",
    "chol_update",
    "decode_pyramid",
    "dense_to_band",
    "eig3",
    "encode_pyramid",
    "halton",
    "mul_pose",
    "neg_pose",
    "quat",
    "spring_damper",
    "transform_spatial",
    "trn_vec_pose",
]
