"""Makes random MJCF models from seeds: `random_mjcf(shape, numbers)`.

The seed `shape` decides the tree, the kinds of joints, geoms and actuators, and every flag. The
seed `numbers` decides all real values. Models of one shape have the same structure, so that one
compiled program serves them all.
"""

import numpy as np

CHAINS = (
    ("hinge",), ("slide",), ("ball",), ("slide", "hinge"), ("hinge", "hinge"), ("slide", "ball"),
    ("hinge", "slide", "hinge"), (),
)  # fmt: skip
COLLIDING = ("sphere", "capsule", "box")
SOLID = ("ellipsoid", "cylinder")
MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")


class Builder:
    """Writes one random model.

    Attributes:
        shape: generator of discrete choices.
        number: generator of real values.
        joints: (name, kind) of the joints so far.
        bodies: names of the bodies so far.
        geoms: names of the colliding geoms so far.
    """

    def __init__(self, shape: int, numbers: int):
        self.shape, self.number = np.random.default_rng(shape), np.random.default_rng(numbers)
        self.joints: list[tuple[str, str]] = []
        self.bodies: list[str] = []
        self.geoms: list[str] = []

    def flip(self, chance: float = 0.5) -> bool:
        """A coin toss."""
        return bool(self.shape.uniform() < chance)

    def real(self, low: float, high: float, n: int = 1) -> str:
        """Random numbers as the text of an attribute."""
        return " ".join(f"{x:.6g}" for x in self.number.uniform(low, high, n))

    def solver(self, prefix: str = "sol", suffix: str = "", direct: float = 0.3) -> str:
        """Random solref and solimp attributes."""
        ref = self.real(0.02, 0.1) + " " + self.real(0.5, 1.5)
        if self.flip(direct):
            ref = self.real(-900, -100) + " " + self.real(-40, -5)
        imp = f"{self.real(0.3, 0.9)} {self.real(0.9, 0.97)} {self.real(0.002, 0.05)} "
        imp += f"{self.real(0.3, 0.7)} {self.real(1, 4)}"
        return f'{prefix}ref{suffix}="{ref}" {prefix}imp{suffix}="{imp}" '

    def joint(self, kind: str) -> str:
        """A joint off centre with springs, friction and limits."""
        name = f"j{len(self.joints)}"
        self.joints.append((name, kind))
        text = f'<joint name="{name}" type="{kind}" damping="{self.real(0, 0.5)}" '
        text += f'armature="{self.real(0.001, 0.1)}" '
        if kind != "free":
            text += f'pos="{self.real(-0.1, 0.1, 3)}" axis="{self.real(-1, 1, 3)}" '
        if self.flip():
            text += f'stiffness="{self.real(1, 20)}" '
            if kind in ("hinge", "slide"):
                text += f'springref="{self.real(-0.3, 0.3)}" '
        if kind in ("hinge", "slide") and self.flip(0.3):
            text += f'ref="{self.real(-0.3, 0.3)}" '
        if self.flip(0.3):
            text += f'frictionloss="{self.real(0.05, 0.5)}" {self.solver(suffix="friction")}'
        if kind != "free" and self.flip(0.6):
            low = "0 " if kind == "ball" else self.real(-0.1, 0) + " "
            text += f'limited="true" range="{low}{self.real(0.02, 0.15)}" '
            text += f'margin="{self.real(0, 0.05)}" {self.solver(suffix="limit")}'
        if kind in ("hinge", "slide") and self.flip(0.2):
            text += f'actuatorfrcrange="{self.real(-0.8, -0.1)} {self.real(0.1, 0.8)}" '
        return text + "/>"

    def geom(self, extra: str = "") -> str:
        """A geom of any type; boxes do not meet boxes, and some types meet nothing."""
        kind = str(self.shape.choice(COLLIDING + SOLID))
        text = (
            f'<geom type="{kind}" size="{self.real(0.05, 0.12, 3)}" pos="{self.real(-0.1, 0.1, 3)}"'
        )
        text += f' quat="{self.real(-1, 1, 4)}" density="{self.real(200, 1000)}" '
        if kind in SOLID:
            return text + 'contype="0" conaffinity="0"/>'
        name = f"g{len(self.geoms)}"
        self.geoms.append(name)
        mask = (2, 0) if kind == "box" else (1, 3)
        text += f'name="{name}" contype="{mask[0]}" conaffinity="{mask[1]}" '
        text += (
            f'condim="{self.shape.choice([1, 3, 4, 6])}" priority="{self.shape.choice([0, 0, 1])}" '
        )
        text += f'friction="{self.real(0.2, 1)} {self.real(0.005, 0.1)} {self.real(0.001, 0.02)}" '
        text += f'solmix="{self.real(0, 2)}" margin="{self.real(0, 0.04)}" '
        return text + f'gap="{self.real(0, 0.01)}" {self.solver()}{extra}/>'

    def body(self, depth: int, kinds: tuple[str, ...], height: float) -> str:
        """A body with joints, geoms, a site, a camera and children."""
        name = f"b{len(self.bodies)}"
        self.bodies.append(name)
        spot = f"{self.real(-0.35, 0.35, 2)} {height:.3g}"
        comp = f'gravcomp="{self.real(0.1, 1)}" ' if self.flip(0.3) else ""
        text = f'<body name="{name}" pos="{spot}" quat="{self.real(-1, 1, 4)}" {comp}>'
        text += "".join(self.joint(kind) for kind in kinds)
        text += "".join(self.geom() for _ in range(self.shape.integers(1, 3)))
        text += (
            f'<site name="s{name}" pos="{self.real(-0.1, 0.1, 3)}" quat="{self.real(-1, 1, 4)}"/>'
        )
        if depth:
            for _ in range(self.shape.integers(0, 3)):
                text += self.body(depth - 1, CHAINS[self.shape.integers(len(CHAINS))], 0.15)
        return text + self.watchers() + "</body>"

    def watchers(self) -> str:
        """A camera and a light of any mode."""
        text = ""
        for tag in ("camera", "light"):
            mode = str(self.shape.choice(MODES))
            target = f'target="{self.shape.choice(self.bodies)}" ' if "target" in mode else ""
            text += f'<{tag} mode="{mode}" {target}pos="{self.real(0.3, 0.6, 3)}"/>'
        return text

    def actuator(self) -> str:
        """An actuator on any joint."""
        name, kind = self.joints[self.shape.integers(len(self.joints))]
        width = {"free": 6, "ball": 3}.get(kind, 1)
        where = "jointinparent" if self.flip(0.3) else "joint"
        common = f'{where}="{name}" gear="{self.real(-2, 2, width)}" '
        if self.flip():
            common += f'ctrllimited="true" ctrlrange="{self.real(-1, -0.2)} {self.real(0.2, 1)}" '
        if self.flip(0.3):
            common += f'forcelimited="true" forcerange="{self.real(-1, -0.2)} {self.real(0.2, 1)}" '
        tag = str(self.shape.choice(["motor", "position", "velocity", "general", "general"]))
        if tag == "position":
            common += f'kp="{self.real(1, 5)}" kv="{self.real(0, 0.5)}" '
        if tag == "velocity":
            common += f'kv="{self.real(0.1, 0.5)}" '
        if tag == "general":
            dynamics = str(self.shape.choice(["none", "integrator", "filter", "filterexact"]))
            common += f'dyntype="{dynamics}" dynprm="{self.real(0.01, 0.1)}" '
            common += f'gaintype="affine" gainprm="{self.real(0.5, 2)} {self.real(-0.3, 0.3, 2)}" '
            common += f'biastype="affine" biasprm="{self.real(-1, 0.2, 3)}" '
            if dynamics != "none":
                early = "true" if self.flip() else "false"
                common += f'actearly="{early}" '
                if self.flip():
                    common += 'actlimited="true" actrange="-0.5 0.5" '
        return f"<{tag} {common}/>"


def random_mjcf(
    shape: int, numbers: int = 0, *, option: str = "", fluid: bool = True, trees: int = 3
) -> str:
    """A random model: trees of mixed joints that touch a floor, a wall, a mocap body and others.

    Args:
        shape: seed of all discrete choices.
        numbers: seed of all real values.
        option: more attributes of `<option>`; the default solver tolerance is tightened, so that
            both solvers end at the optimum.
        fluid: whether there is a medium.
        trees: number of kinematic trees.
    """
    b = Builder(shape, numbers)
    roots = ["free", *b.shape.permutation(["ball", "hinge", "slide"])[: trees - 1]]
    world = '<geom name="floor" type="plane" size="0 0 1" contype="0" conaffinity="3" '
    world += f'condim="3" friction="{b.real(0.3, 0.9)} 0.01 0.001" margin="0.01"/>'
    world += (
        '<geom name="wall" type="box" size="0.1 1 0.3" pos="0.5 0 0" contype="2" conaffinity="0"/>'
    )
    world += '<body name="mocap" mocap="true" pos="-0.4 0 0.1"><geom name="hand" size="0.1" '
    world += 'contype="1" conaffinity="3"/></body>'
    b.bodies += ["mocap"]
    for root in roots:
        world += b.body(2, (str(root),), 0.12)
    if "g1" in b.geoms:
        pair = f'<pair geom1="floor" geom2="g0" condim="{b.shape.choice([3, 4, 6])}" {b.solver()}'
        pair += f'solreffriction="{b.real(0.02, 0.1)} 1" friction="{b.real(0.3, 1, 5)}" '
        contact = pair + f'margin="{b.real(0, 0.02)}"/>'
    else:
        contact = ""
    contact += f'<exclude body1="mocap" body2="{b.bodies[-1]}"/>'
    actuators = "".join(b.actuator() for _ in range(5))
    medium = f'density="{b.real(1, 50)}" viscosity="{b.real(0.01, 0.5)}" wind="{b.real(-1, 1, 3)}" '
    return (
        "<mujoco>"
        f'<option tolerance="1e-13" ls_tolerance="1e-6" impratio="{b.real(0.5, 4)}" '
        f'{medium if fluid else ""}{option}><flag energy="enable"/></option>'
        f"<worldbody>{world}</worldbody><contact>{contact}</contact>"
        f"<actuator>{actuators}</actuator></mujoco>"
    )
