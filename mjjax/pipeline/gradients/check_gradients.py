"""Comparison of derivatives with differences, stage by stage, for every input."""

import dataclasses
from collections.abc import Iterator, Sequence

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.from_distance import ContactsFromDistance
from mjjax.core.enums import SolverType
from mjjax.dynamics.position import normalize_quat
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.terms import TERMS
from mjjax.pipeline.gradients.blame import blamed_entry, blamed_result
from mjjax.pipeline.gradients.directions import INPUTS, differentiable_fields, random_moves
from mjjax.pipeline.gradients.entries import entry, pair
from mjjax.pipeline.gradients.gradient_report import Finding, GradientReport, Verdict
from mjjax.pipeline.gradients.gradient_verdict import (
    Issue,
    judge,
    not_finite_in_reverse,
    other_in_reverse,
)
from mjjax.pipeline.gradients.probe import (
    PROBED_STAGES,
    Move,
    Outcome,
    Probed,
    at_once,
    probe,
    reals,
)

TRACED = 6  # results per stage whose errors are traced to an entry of the input


def check_gradients(
    model: Model,
    data: Data,
    callbacks: Callbacks | None = None,
    *,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> GradientReport:
    """Compares the derivatives of each stage of a step with centred differences.

    Each real field of the model, the state, the controls and the applied forces are moved along a
    random direction in the tangent space. A disagreement is then traced to an entry of the input.
    The differences are of fourth order, and the best of three lengths counts. The error of an entry
    is relative to the entry, or to a hundredth of the largest entry of its field if that is larger.
    Reverse mode is compared with forward mode.

    The check concerns the derivative at the optimum, so Newton's solver and the collision of convex
    shapes run until only rounding errors are left. Each stage is compiled once per structure.

    Args:
        model: model, in float64.
        data: state of one world.
        callbacks: your own functions, checked with the stage that calls them. The check leaves out
            `ContactsFromDistance`, whose derivative is not a difference of values.
        tolerance: largest relative error.
        seed: seed of the directions.

    Raises:
        ValueError: the model or the data is not in float64, or the data is a batch.
    """
    _require_float64(model, data)
    findings = list(_bad_inputs(model, data))
    if findings:
        return GradientReport(model.structure.model_name, tuple(findings), (), ())
    calls = callbacks or NONE
    if isinstance(calls.passive, ContactsFromDistance):
        calls = dataclasses.replace(calls, passive=None)
    exact = _exact(model)
    probed = Probed(exact, _unit(model, data), calls, differentiable_fields(exact))
    check = _Check(probed, tolerance)
    moves = random_moves(probed, np.random.default_rng(seed))
    for first in range(0, len(moves), at_once(data)):
        check.run(moves[first : first + at_once(data)])
    findings = [*check.findings(), *_absent_terms(model), *check.contacts()]
    checked = tuple(move.name for move in moves)
    return GradientReport(
        model.structure.model_name, tuple(findings), checked, tuple(check.no_effect)
    )


def _require_float64(model: Model, data: Data) -> None:
    kinds = {x.dtype for tree in (model, data) for x in reals(tree).values()}
    if kinds != {np.dtype(np.float64)}:
        raise ValueError(
            "differences need float64: jax.config.update('jax_enable_x64', True) at the start, "
            "then make the model and the data"
        )
    if data.qpos.ndim != 1:
        raise ValueError("check_gradients takes the data of one world, not a batch")


def _exact(model: Model) -> Model:
    """The model with optima found to rounding, so that differences of them can be taken."""
    opt = model.opt
    tiny = {"tolerance": 1e-15, "ls_tolerance": 1e-6, "ccd_tolerance": 1e-11}
    return model.replace(
        opt=opt.replace(
            solver=int(SolverType.NEWTON),
            iterations=max(opt.iterations, 100),
            ls_iterations=max(opt.ls_iterations, 50),
            ccd_iterations=max(opt.ccd_iterations, 170),
            **{name: jnp.asarray(x, model.qpos0.dtype) for name, x in tiny.items()},
        )
    )


def _unit(model: Model, data: Data) -> Data:
    return data.replace(qpos=normalize_quat(model, data.qpos))


def _bad_inputs(model: Model, data: Data) -> Iterator[Finding]:
    given = reals(model) | {name: getattr(data, name) for name in INPUTS}
    for name, x in given.items():
        for index in np.argwhere(~np.isfinite(x))[:1]:
            where = entry(model, data, name, tuple(index))
            text = " of ".join(filter(None, (name, where))) + f" is {np.asarray(x)[tuple(index)]}"
            yield Finding("", Verdict.NOT_FINITE, name, where, (), text)


def _absent_terms(model: Model) -> Iterator[Finding]:
    leaves = reals(model)
    for name, mask in model.terms.items():
        for field in TERMS[name].fields:
            if mask.all() or TERMS[name].derived or field not in leaves:
                continue
            some = "in part" if mask.any() else "not"
            text = f"{field}: its term is {some} in the program; model.with_terms('{name}')"
            yield Finding("", Verdict.OFF, field, "", (), text)


class _Check:
    """A check of one model in one state, with its findings so far.

    Attributes:
        issues: errors of forward mode.
        noted: findings of other kinds, by a key under which each is noted once.
        decided: contacts and rows that come or go near the state, with the inputs that move them.
        no_effect: inputs with a zero derivative.
        uncompared: inputs whose differences cross decisions, however short.
        end: data after the constraint stage.
    """

    def __init__(self, probed: Probed, tolerance: float):
        self.probed, self.tolerance = probed, tolerance
        self.end = probed.data
        self.issues: list[Issue] = []
        self.noted: dict[tuple[str, str, str], Finding] = {}
        self.decided: dict[str, list[str]] = {}
        self.no_effect: list[str] = []
        self.uncompared: dict[str, None] = {}

    def run(self, moves: Sequence[Move]) -> None:
        """Tries some moves and notes errors and decisions."""
        effect, kinked = [move.name in INPUTS for move in moves], set()
        for stage, outcome in probe(self.probed, moves):
            if stage == "fwd_constraint":
                self.end = outcome.after
            if self._note_values(stage, outcome):
                return
            self._note_reverse(stage, outcome, moves)
            self._note_decisions(outcome, moves)
            lost = [m.name for i, m in enumerate(moves) if not outcome.settled[i].any()]
            self.uncompared |= dict.fromkeys(lost)
            found = list(judge(stage, outcome, moves, self.tolerance))
            # Results that depend on a kink have a kink too; it is reported only once.
            self.issues += [
                x for x in found if x.verdict != Verdict.KINK or x.move.name not in kinked
            ]
            kinked |= {x.move.name for x in found if x.verdict == Verdict.KINK}
            for i in range(len(moves)):
                effect[i] = effect[i] or any(x[i].any() for x in outcome.pushed.values())
        self.no_effect += [move.name for move, any_ in zip(moves, effect, strict=True) if not any_]

    def findings(self) -> list[Finding]:
        """All that was found, in the order of the pipeline."""
        order = {name: i for i, name in enumerate(reals(self.probed.data))}
        first = order["xpos"]  # the fields before it, state and results, are computed last
        groups: dict[tuple[str, Verdict, str], list[Issue]] = {}
        for issue in self.issues:
            groups.setdefault((issue.stage, issue.verdict, issue.field), []).append(issue)
        traced = dict.fromkeys(PROBED_STAGES, 0)
        found = list(self.noted.values())
        for (stage, verdict, _), some in groups.items():
            trace = verdict == Verdict.WRONG and traced[stage] < TRACED
            traced[stage] += trace
            found.append(self._finding(some, trace))
        stages = list(PROBED_STAGES)

        def place(finding: Finding) -> tuple[int, int]:
            return stages.index(finding.stage), (order.get(finding.field, 0) - first) % len(order)

        return sorted(found, key=place)

    def contacts(self) -> Iterator[Finding]:
        """Decisions about contacts, which derivatives take as fixed."""
        geoms = np.asarray(self.end.contact.geom)
        if not len(geoms):
            return
        touching = list(dict.fromkeys(pair(self.probed.model, g) for g in geoms if g[0] >= 0))
        names = ", ".join(touching) or "none"
        text = f"contacts: {names}; pairs that are not in contact have no derivative"
        yield Finding("", Verdict.OFF, "contact", names, (), text)
        for name, inputs in self.decided.items():
            moved = ", ".join(inputs)
            text = f"{name} comes or goes with small changes of {moved}; the derivative does not"
            yield Finding("", Verdict.OFF, "contact", name, tuple(inputs), text)
        if self.uncompared:
            text = "every difference crosses one of these: not compared by "
            text += ", ".join(self.uncompared)
            yield Finding("", Verdict.UNSETTLED, "contact", "", tuple(self.uncompared), text)

    def _words(self, field: str, index: tuple[int, ...]) -> tuple[str, str]:
        """Owner of an entry, and the field with it."""
        where = entry(self.probed.model, self.end, field, index)
        return where, " of ".join(filter(None, (field, where)))

    def _note(self, stage: str, field: str, index: tuple[int, ...], *by: str, text: str) -> None:
        where, result = self._words(field, index) if field else ("", "")
        finding = Finding(stage, Verdict.NOT_FINITE, field, where, by, text.format(result=result))
        self.noted.setdefault((stage, field, text), finding)

    def _note_values(self, stage: str, outcome: Outcome) -> bool:
        """Notes results that are not finite, and returns whether there are any."""
        for field, x in outcome.value.items():
            for index in np.argwhere(~np.isfinite(x))[:1]:
                self._note(stage, field, tuple(index), text="{result} itself is not finite")
        return any(key[0] == stage and "itself" in key[2] for key in self.noted)

    def _note_reverse(self, stage: str, outcome: Outcome, moves: Sequence[Move]) -> None:
        bad = not_finite_in_reverse(outcome)
        if bad:
            field = blamed_result(self.probed, stage, outcome, moves, not_finite_in_reverse)
            _, by = self._words(*bad)
            text = f"derivative of {{result}} by {by} in reverse mode"
            self._note(stage, field, (), by, text=text)
            return
        other = other_in_reverse(outcome, moves)
        if other:
            field = blamed_result(
                self.probed, stage, outcome, moves, lambda x: other_in_reverse(x, moves)
            )
            text = f"{field} by {other.name}: reverse mode gives something else than forward mode"
            finding = Finding(stage, Verdict.WRONG, field, "", (other.name,), text)
            self.noted.setdefault((stage, field, "reverse"), finding)

    def _note_decisions(self, outcome: Outcome, moves: Sequence[Move]) -> None:
        here = outcome.after
        for i, k in np.argwhere(outcome.changed[: len(moves)]):
            sets = [{tuple(g) for g in x} for x in (here.contact.geom, outcome.geoms[i, k])]
            names = [pair(self.probed.model, g) for g in (sets[0] ^ sets[1]) if g[0] >= 0]
            if not names:
                rows = np.flatnonzero((here.efc_mass > 0) ^ outcome.rows[i, k])
                names = [entry(self.probed.model, here, "efc_mass", (int(r),)) for r in rows]
            for name in names:
                inputs = self.decided.setdefault(name, [])
                if moves[i].name not in inputs:
                    inputs.append(moves[i].name)

    def _finding(self, issues: list[Issue], trace: bool) -> Finding:
        issues = sorted(issues, key=lambda x: -np.nan_to_num(x.error, nan=np.inf))
        worst = issues[0]
        by = worst.move.name
        if trace:
            worst, place = blamed_entry(self.probed, worst, self.tolerance)
            if place is not None:
                owner = "qvel" if by == "qpos" else by
                by = " of ".join(filter(None, (by, self._words(owner, place)[0])))
        where, result = self._words(worst.field, worst.index)
        left, right = (f"{x:.6g}" for x in worst.expected)
        says = {
            Verdict.NOT_FINITE: "",
            Verdict.KINK: f": {worst.mine:.6g}, between {left} and {right} on its sides",
        }.get(worst.verdict, f": {worst.mine:.6g}, differences say {left}")
        more = list(dict.fromkeys(x.move.name for x in issues[1:] if x.move != issues[0].move))
        also = f"; also by {', '.join(more)}" if more else ""
        text = f"derivative of {result} by {by}{says}{also}"
        return Finding(worst.stage, worst.verdict, worst.field, where, (by, *more), text)
