"""The report of a check of the derivatives."""

import dataclasses
import enum
import textwrap

from mjjax.core.representation import represent


class Verdict(enum.StrEnum):
    """What is wrong with a derivative.

    `WRONG` and `NOT_FINITE` are errors. At a `KINK`, each side has a derivative of its own, and the
    engine's derivative lies between the two. `UNSETTLED` differences can neither confirm nor refute
    a derivative. What is `OFF` is not part of the program, or derivatives take it as fixed.
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
        stage: stage of the pipeline; `""` if it was found before the first stage.
        verdict: what is wrong.
        field: field of `Data`, or the input if that is not finite or off. The names of contact
            fields begin with `contact.`, those of options with `opt.`.
        where: body, joint, geom, pair, ... of the worst entry; `""` for a single number.
        inputs: inputs with respect to which the derivative is taken, the worst first, with the
            owner of the entry if it is known.
        text: the whole finding in words.
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
    """The findings of `check_gradients`; `print` the report to read them.

    Attributes:
        name: name of the model.
        findings: in the order of the pipeline. The first error of a stage is likely the cause of
            its other errors, but it never causes errors in another stage.
        checked: fields of the model and inputs whose derivatives were compared.
        no_effect: fields of the model with a zero derivative in every stage, in this state.
    """

    name: str
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    no_effect: tuple[str, ...]

    __repr__ = represent

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings about derivatives that are wrong or not finite."""
        return tuple(f for f in self.findings if f.verdict in ERRORS)

    @property
    def ok(self) -> bool:
        """Whether no derivative is wrong or not finite."""
        return not self.errors

    def __str__(self) -> str:
        right = "all right" if self.ok else f"{len(self.errors)} errors"
        lines = [f"derivatives of {self.name!r} by {len(self.checked)} inputs: {right}"]
        lines += [str(finding) for finding in self.findings]
        if self.no_effect:
            text = "no effect in this state: " + ", ".join(self.no_effect)
            lines += textwrap.wrap(text, 100, subsequent_indent="    ")
        return "\n".join(lines)
