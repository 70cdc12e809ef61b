"""Compares contacts of pairs of geoms with MuJoCo's, in many poses of four regimes.

Protocol A compares a kernel in float64 with MuJoCo with its default settings. Protocol B compares
the kernel in float32 with converged results of MuJoCo (`CONVERGED`). Poses for which MuJoCo's own
result flips under a tiny perturbation are set aside and counted.

    pair = Pair("box", "mesh", geoms2=['type="mesh" mesh="m"'], assets=ASSETS, multiccd=True)
    agreement = judge(pair, kernel)              # kernel(poses) -> ContactSet of (N, m, ...)
    print(agreement, agreement.share(1e-9))      # pair.models are MuJoCo's, `poses.model` chooses
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet

CONVERGED = 'ccd_iterations="170" ccd_tolerance="1e-11"'
REGIMES = ("shallow", "deep", "margin", "parallel")
AMPLIFIED = 1e3  # a change of a result by more than this many perturbations is a flip
SHRUNK = 0.1  # scale of the geoms [m]
MODEL = """
<mujoco>
  <option {options}><flag multiccd="{multiccd}" nativeccd="{native}"/></option>
  <size memory="16M"/>
  <asset>{assets}</asset>
  <worldbody>
    <body mocap="true"><geom {first} contype="0" conaffinity="0"/></body>
    <body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <geom {second} contype="0" conaffinity="0"/></body>
  </worldbody>
  <contact><pair geom1="0" geom2="1"/></contact>
</mujoco>
"""
PLANAR = ("plane", "hfield")
NUMBER_OF_SIZES = {"plane": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}


class Poses(NamedTuple):
    """Inputs of N calls of a kernel; `model` is the index of each call's model in the pair."""

    pos1: np.ndarray
    mat1: np.ndarray
    size1: np.ndarray
    pos2: np.ndarray
    mat2: np.ndarray
    size2: np.ndarray
    margin: np.ndarray
    model: np.ndarray

    def kernel_arguments(self, dtype: type = np.float64) -> list[np.ndarray]:
        """Arguments of the analytic kernels, with a leading axis."""
        return [np.asarray(x, dtype) for x in self[:-1]]


class Agreement(NamedTuple):
    """Agreement of two results.

    Attributes:
        aside: (N,) poses for which MuJoCo's result flips.
        touching: (N,) poses with contacts in MuJoCo.
        count: (N,) whether the numbers of contacts agree.
        dist: (N,) largest error of a distance if the numbers agree, else NaN [m].
        pos: (N,) largest error of a point, likewise [m].
        normal: (N,) largest error of a normal, likewise.
        regime: (N,) index into `REGIMES`.
    """

    aside: np.ndarray
    touching: np.ndarray
    count: np.ndarray
    dist: np.ndarray
    pos: np.ndarray
    normal: np.ndarray
    regime: np.ndarray

    def share(self, tolerance: float = np.inf, normal: float | None = None) -> float:
        """Share of the poses not set aside that have equal counts and errors within tolerances."""
        limits = (tolerance, tolerance, tolerance if normal is None else normal)
        errors = zip((self.dist, self.pos, self.normal), limits, strict=True)
        good = self.count & np.all([np.nan_to_num(e, nan=np.inf) <= t for e, t in errors], axis=0)
        return float(np.mean(good[~self.aside]))

    def bad(self, tolerance: float = 1e-9) -> np.ndarray:
        """Indices of poses that are not set aside and disagree."""
        errors = np.nan_to_num([self.dist, self.pos, self.normal], nan=np.inf)
        return np.flatnonzero(~self.aside & ~(self.count & (errors <= tolerance).all(axis=0)))

    def __str__(self) -> str:
        lines = ["regime    poses aside touch  count  | dist: 99 %, max | pos | normal"]
        for k, name in enumerate((*REGIMES, "all")):
            on = (self.regime == k) | (k == len(REGIMES))
            used = on & ~self.aside
            same = used & self.count
            parts = [
                " ".join(f"{np.quantile(e[same], q):.0e}" if same.any() else "-" for q in (0.99, 1))
                for e in (self.dist, self.pos, self.normal)
            ]
            share = np.mean(self.count[used]) if used.any() else np.nan
            lines.append(
                f"{name:9s} {on.sum():5d} {(on & self.aside).sum():5d} "
                f"{(on & self.touching).sum():5d} {share:6.2%} | " + " | ".join(parts)
            )
        return "\n".join(lines)


class Pair:
    """MuJoCo's collision of two geoms, which are alone in a model.

    Args:
        first: type of geom 1.
        second: type of geom 2.
        geoms1: attributes of geom 1 in each model, such as `['type="mesh" mesh="m"']`; needed if
            it has an asset.
        geoms2: attributes of geom 2, likewise.
        assets: XML of assets, such as `<mesh name="m" vertex="..."/>`.
        options: attributes of `<option>`.
        multiccd: the flag `multiccd`.
        native: the flag `nativeccd`.
        margin: margin [m] of the regime `margin`.
        base_margin: margin [m] of all other regimes.
        seed: seed of sizes and poses.
    """

    def __init__(
        self,
        first: str,
        second: str,
        *,
        geoms1: Sequence[str] | None = None,
        geoms2: Sequence[str] | None = None,
        assets: str = "",
        options: str = "",
        multiccd: bool = False,
        native: bool = True,
        margin: float = 0.02,
        base_margin: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.types = first, second
        self.margin, self.base_margin = margin, base_margin
        self.rng = np.random.default_rng(seed)
        flags = {"multiccd": multiccd, "native": native}
        flags = {name: "enable" if on else "disable" for name, on in flags.items()}
        geoms1 = geoms1 or [self._sized(first) for _ in range(20)]
        geoms2 = geoms2 or [self._sized(second) for _ in range(20)]
        n = max(len(geoms1), len(geoms2))
        texts = [
            MODEL.format(
                options=options,
                **flags,
                assets=assets,
                first='name="0" ' + geoms1[i % len(geoms1)],
                second='name="1" ' + geoms2[i % len(geoms2)],
            )
            for i in range(n)
        ]
        self.models = [mujoco.MjModel.from_xml_string(t) for t in texts]
        self.datas = [mujoco.MjData(m) for m in self.models]

    def _sized(self, kind: str) -> str:
        size = SHRUNK * self.rng.uniform(0.3, 1.5, NUMBER_OF_SIZES[kind])
        rounded = size.astype(np.float32).astype(float)  # float32 then has the same sizes
        return f'type="{kind}" size="{" ".join(map(str, rounded))}"'

    def poses(self, count: int = 2000) -> tuple[Poses, np.ndarray]:
        """Poses, and the regime of each.

        Geom 2 stands on a random line from geom 1's centre, near the place at which MuJoCo's
        contacts end: a little below it, far below it, or above it within the margin. In the last
        regime it is at one of these places, with axes that are parallel up to 1e-2 to 1e-8 rad.
        """
        regime = np.arange(count) % len(REGIMES)
        model = np.arange(count) // len(REGIMES) % len(self.models)
        found = [self._pose(REGIMES[r], int(k)) for r, k in zip(regime, model, strict=True)]
        columns = [np.stack(x) for x in zip(*found, strict=True)]
        return Poses(*columns[:7], model=model), regime

    def _pose(self, regime: str, k: int) -> list[np.ndarray]:
        rng = self.rng
        start = rng.normal(size=3) * SHRUNK
        quats = [self._rotation(regime == "parallel") for _ in range(2)]
        mat1, mat2 = (_mat(q) for q in quats)
        if regime == "parallel":
            tilt = 10 ** rng.uniform(-8, -2) * rng.normal(size=3)
            mat2 = mat1 @ _mat(np.array([1, *(tilt / 2)])) @ mat2
        line = rng.normal(size=3)
        if self.types[0] in PLANAR:
            line[2] = abs(line[2]) + 0.3
            line[:2] *= 0.3
        line = mat1 @ (line / np.linalg.norm(line))
        reach = self._reach(k, start, mat1, line, mat2)
        depth, margin = SHRUNK * rng.uniform(0, 0.05), self.base_margin
        if regime == "deep":
            depth = rng.uniform(0.1, 0.9) * max(reach, SHRUNK)
        elif regime == "margin":
            margin = self.margin
            depth = rng.uniform(-1, 0) * margin
        elif rng.random() < 0.2:
            depth *= -1
        return self._place(k, start, mat1, start + (reach - depth) * line, mat2, margin)

    def just_touching(self, count: int) -> Poses:
        """Poses with a margin whose shapes just touch without it, up to a millionth of a metre."""
        rows = []
        for i in range(count):
            k = i % len(self.models)
            mat1, mat2 = (_mat(self._rotation(False)) for _ in range(2))
            line = self.rng.normal(size=3)
            line /= np.linalg.norm(line)
            reach = self._reach(k, np.zeros(3), mat1, line, mat2) + self.rng.uniform(-1e-6, 5e-7)
            place = self._place(k, np.zeros(3), mat1, reach * line, mat2, self.margin)
            rows.append([*place, np.array(k)])
        return Poses(*(np.stack(x) for x in zip(*rows, strict=True)))

    def _rotation(self, square: bool) -> np.ndarray:
        if not square:
            return self.rng.normal(size=4)
        quat = np.zeros(4)
        quat[0], quat[self.rng.integers(1, 4)] = [(1, 0), (1, 1), (0, 1)][self.rng.integers(3)]
        return quat

    def _reach(self, k: int, start: np.ndarray, mat1: np.ndarray, line: np.ndarray, mat2) -> float:
        """Distance along the line at which the contacts end."""
        near, far = 0.0, 10 * SHRUNK
        for _ in range(40):
            middle = 0.5 * (near + far)
            place = self._place(k, start, mat1, start + middle * line, mat2, 0.0)
            if len(self._collide(k, place).dist):
                near = middle
            else:
                far = middle
        return near

    def _place(
        self, k: int, pos1: np.ndarray, mat1: np.ndarray, pos2: np.ndarray, mat2: np.ndarray,
        margin: float,
    ) -> list[np.ndarray]:  # fmt: skip
        size = self.models[k].geom_size.copy()
        return [pos1, mat1, size[0], pos2, mat2, size[1], np.array(margin)]

    def _collide(self, k: int, place: Sequence[np.ndarray]) -> ContactSet:
        m, d = self.models[k], self.datas[k]
        pos1, mat1, _, pos2, mat2, _, margin = place
        m.pair_margin[:] = margin
        d.geom_xpos[:] = pos1, pos2
        d.geom_xmat[:] = np.reshape(mat1, 9), np.reshape(mat2, 9)
        mujoco.mj_collision(m, d)
        con = d.contact
        frame = con.frame.reshape(-1, 3, 3).copy()
        return ContactSet(con.dist.copy(), con.pos.copy(), frame[:, 0], frame[:, 1])

    def contacts(self, poses: Poses) -> list[ContactSet]:
        """MuJoCo's contacts for each pose."""
        found = zip(*poses, strict=True)
        return [self._collide(int(k), place) for *place, k in found]

    def flips(
        self, poses: Poses, contacts: list[ContactSet], step: float = 1e-9, tries: int = 3
    ) -> np.ndarray:
        """Poses (N,) for which MuJoCo's result jumps under a perturbation of `step`."""
        rng = np.random.default_rng(0)
        flip = np.zeros(len(contacts), bool)
        for _ in range(tries):
            turned = [
                _mat(np.array([1, *(step / SHRUNK / 2 * rng.normal(size=3))])) @ mat
                for mat in poses.mat2
            ]
            moved = poses.pos2 + step * rng.normal(size=poses.pos2.shape)
            other = self.contacts(poses._replace(mat2=np.stack(turned), pos2=moved))
            both = zip(contacts, other, strict=True)
            flip |= [max(_errors(a, b)) > AMPLIFIED * step for a, b in both]
        return flip


def judge(
    pair: Pair,
    kernel: Callable[[Poses], ContactSet],
    count: int = 2000,
    step: float = 1e-9,
    reference: Pair | None = None,
    dtype: type = np.float64,
) -> Agreement:
    """Compares a kernel with MuJoCo.

    Args:
        pair: the pair, with its settings.
        kernel: function of N poses that returns contacts (N, m, ...), with empty slots anywhere.
        count: number of poses.
        step: perturbation by which flips are found; 1e-6 for float32.
        reference: another pair that gives the contacts, such as the converged one.
        dtype: type to which poses are rounded for both sides.
    """
    poses, regime = pair.poses(count)
    rounded = [x.astype(dtype).astype(float) for x in poses[:-1]]
    poses = Poses(*rounded[:7], model=poses.model)
    reference = reference or pair
    theirs = reference.contacts(poses)
    ours = listed(kernel(poses))
    errors = np.array([_errors(a, b) for a, b in zip(ours, theirs, strict=True)])
    same = np.asarray(np.isfinite(errors).all(axis=1))
    dist, pos, normal = np.where(same[:, None], errors, np.nan).T
    aside = reference.flips(poses, theirs, step)
    touching = np.array([len(t.dist) > 0 for t in theirs])
    return Agreement(aside, touching, same, dist, pos, normal, regime)


def listed(touch: ContactSet) -> list[ContactSet]:
    """Contacts of each pose without the empty slots."""
    touch = ContactSet(*(np.asarray(x, float) for x in touch))
    on = touch.dist < NO_CONTACT / 2
    return [ContactSet(*(x[full] for x in slots)) for *slots, full in zip(*touch, on, strict=True)]


def _errors(a: ContactSet, b: ContactSet) -> list[float]:
    """Largest differences of distances, points and normals; infinite if counts differ."""
    if len(a.dist) != len(b.dist):
        return [np.inf] * 3
    return [float(np.max(np.abs(x - y), initial=0)) for x, y in zip(a[:3], b[:3], strict=True)]


def _mat(quat: np.ndarray) -> np.ndarray:
    mat = np.zeros(9)
    mujoco.mju_quat2Mat(mat, quat / np.linalg.norm(quat))
    return mat.reshape(3, 3)
