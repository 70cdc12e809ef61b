"""What a check of the derivatives found."""

import dataclasses
import enum
import textwrap

from mjjax.core.representation import represent


class Verdict(enum.StrEnum):
    """What is the matter with a derivative.

    The first two are errors. A kink has a derivative on each side, and the engine's is between
    them; where differences do not settle they can neither confirm nor refute; what is off is no
    part of the program or fixed by a decision, so that its derivative is zero or refused.
    """

    WRONG = "wrong"
    NOT_FINITE = "not finite"
    KINK = "kink"
    UNSETTLED = "unsettled"
    OFF = "off"


ERRORS = (Verdict.WRONG, Verdict.NOT_FINITE)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a check found.

    Attributes:
        stage: stage of the pipeline, `""` before it.
        verdict: what is the matter.
        field: field of `Data`, or the input if it is not finite or off; `contact.` in front for
            contacts, `opt.` for options.
        where: body, joint, geom, pair, ... of the worst entry, `""` for a single number.
        inputs: inputs by which the derivative is taken, the worst first, with the entry's owner
            where it is known.
        text: the whole in words.
    """

    stage: str
    verdict: Verdict
    field: str
    where: str
    inputs: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.stage or 'input':16}{self.verdict:12}{self.text}"


@dataclasses.dataclass(frozen=True)
class GradientReport:
    """What `check_gradients` found; `print` it.

    Attributes:
        name: name of the model.
        findings: in the order of the pipeline; the first error of a stage is likely the cause of
            its others, an error never that of another stage's.
        checked: fields of the model and inputs whose derivatives were compared.
        no_effect: fields of the model with a zero derivative in every stage, here and now.
    """

    name: str
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    no_effect: tuple[str, ...]

    __repr__ = represent

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that are wrong or not finite."""
        return tuple(f for f in self.findings if f.verdict in ERRORS)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong or not finite."""
        return not self.errors

    def __str__(self) -> str:
        right = "all right" if self.ok else f"{len(self.errors)} errors"
        lines = [f"derivatives of {self.name!r} by {len(self.checked)} inputs: {right}"]
        lines += [str(finding) for finding in self.findings]
        if self.no_effect:
            text = "no effect in this state: " + ", ".join(self.no_effect)
            lines += textwrap.wrap(text, 100, subsequent_indent="    ")
        return "\n".join(lines)
