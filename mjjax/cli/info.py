"""`mjjax info`: shows the parts of a model, and those that mjjax would not simulate."""

import argparse
import json
from typing import Any

import numpy as np

import mjjax
from mjjax.cli.models import load
from mjjax.collision.plan.capacity import capacity_of
from mjjax.collision.plan.search import contact_disabled, plan_of
from mjjax.model.data import CollisionRules
from mjjax.pipeline.support import findings

SHOWN_SIZES = (
    "nq nv nu na nbody njnt ngeom nsite ncam nlight nmesh nhfield neq ntendon nsensor nsensordata "
    "npair nexclude nkey nmocap ntree"
).split()


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Shows a model's sizes, terms that are in the program, kinematic trees, joints, "
        "actuators, sensors, candidate contact pairs, contact slots and warnings, and "
        "the parts that cannot be simulated yet."
    )
    parser.add_argument("model", help="MJCF file, compiled model, or name of an embedded model")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=_info)


def _info(args: argparse.Namespace) -> None:
    facts = describe(load(args.model))
    if args.json:
        print(json.dumps(facts, indent=1))
    else:
        _print_tables(facts)


def describe(model: mjjax.Model) -> dict[str, Any]:
    """Sizes, lists of elements, pairs, warnings and gaps of a model, ready for JSON."""
    s = model.structure
    return {
        "model": s.model_name,
        "sizes": {name: int(getattr(s, name)) for name in SHOWN_SIZES},
        "options": {
            "timestep": float(f"{float(model.opt.timestep):.7g}"),
            "integrator": mjjax.IntegratorType(model.opt.integrator).name,
            "cone": mjjax.ConeType(model.opt.cone).name,
            "solver": mjjax.SolverType(model.opt.solver).name,
            "iterations": model.opt.iterations,
        },
        "terms": {name: _switch(on) for name, on in model.terms.items()},
        "trees": _trees(model),
        "joints": _joints(model),
        "actuators": _actuators(model),
        "sensors": [
            {"name": s.names["sensor"][i], "type": mjjax.SensorType(kind).name, "dim": int(dim)}
            for i, (kind, dim) in enumerate(zip(s.sensor_type, s.sensor_dim, strict=True))
        ],
        "contact_pairs": _pairs(model),
        "contact_slots": capacity_of(model, CollisionRules())._asdict(),
        "warnings": list(model.structure.warnings),
        "not_simulated": findings(model),
    }


def _switch(on: np.ndarray) -> str:
    """Text that says which part of a term is in the program."""
    if on.all() or not on.any():
        return "on" if on.any() else "off"
    return f"{on.sum()} of {on.size}"


def _trees(model: mjjax.Model) -> list[dict[str, Any]]:
    s = model.structure
    tree = [s.dof_treeid[s.body_dofadr[b]] if s.body_dofnum[b] else -1 for b in range(s.nbody)]
    roots = [tree.index(t) for t in range(s.ntree)]
    return [
        {
            "root": s.names["body"][root],
            "dofs": int(np.sum(s.dof_treeid == t)),
            "mass": float(model.body_subtreemass[root]),
        }
        for t, root in enumerate(roots)
    ]


def _joints(model: mjjax.Model) -> list[dict[str, Any]]:
    s = model.structure
    return [
        {
            "name": s.names["joint"][j],
            "type": mjjax.JointType(s.jnt_type[j]).name,
            "body": s.names["body"][s.jnt_bodyid[j]],
            "range": np.asarray(model.jnt_range[j]).tolist() if s.jnt_limited[j] else None,
        }
        for j in range(s.njnt)
    ]


def _actuators(model: mjjax.Model) -> list[dict[str, Any]]:
    s = model.structure
    return [
        {
            "name": s.names["actuator"][i],
            "transmission": mjjax.TrnType(s.actuator_trntype[i]).name,
            "gain": mjjax.GainType(s.actuator_gaintype[i]).name,
            "ctrlrange": (
                np.asarray(model.actuator_ctrlrange[i]).tolist()
                if s.actuator_ctrllimited[i]
                else None
            ),
        }
        for i in range(s.nu)
    ]


def _pairs(model: mjjax.Model) -> dict[str, int]:
    """Candidate pairs by geom types."""
    if contact_disabled(model):
        return {}
    return {
        "-".join(t.name.lower() for t in kind.types): len(kind.pairs)
        for kind in plan_of(model, CollisionRules()).kinds
    }


def _print_tables(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{facts['model']}[/bold]", highlight=False)
    for title in ("sizes", "options", "terms", "contact_pairs", "contact_slots"):
        if facts[title]:
            line = "  ".join(f"{name} {value}" for name, value in facts[title].items() if value)
            console.print(f"[bold]{title.replace('_', ' ')}[/bold]  {line}", highlight=False)
    for title in ("trees", "joints", "actuators", "sensors"):
        if not facts[title]:
            continue
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in ("id", *facts[title][0]):
            table.add_column(column)
        for index, row in enumerate(facts[title]):
            table.add_row(str(index), *(_cell(value) for value in row.values()))
        console.print(table)
    for title, colour in (("warnings", "yellow"), ("not_simulated", "red")):
        for line in facts[title]:
            console.print(f"[{colour}]{title.replace('_', ' ')}[/{colour}]: {line}", soft_wrap=True)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(f"{x:.4g}" for x in value)
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
