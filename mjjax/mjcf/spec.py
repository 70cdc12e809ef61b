"""`Spec`: a model as the user described it, before it is compiled."""

import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mjjax.core.below import work
from mjjax.core.errors import Origin
from mjjax.core.limits import Limits
from mjjax.core.representation import table
from mjjax.mjcf.defaults import builtin, read_defaults
from mjjax.mjcf.edit import Section, Sections
from mjjax.mjcf.element import DefaultClass, Element
from mjjax.mjcf.element_lists import ElementLists


def _section(row: str) -> Section:
    return Section(row, builtin(row))


@dataclass(eq=False)
class Spec(ElementLists):
    """A model description that can be read, edited, written and compiled.

    Make one with `Spec.from_file` or `Spec.from_string`, or an empty one with `Spec()`.
    Includes and default classes are resolved, and macros are expanded.

    The lists `bodies joints geoms sites cameras lights frames` are in the order of their ids. There
    are also `pairs excludes equalities tendons actuators sensors keys numerics texts tuples meshes
    hfields textures materials skins`. The singular of a list's name finds one element by name, or
    None: `spec.body("torso")`. Elements in the world are added to their body:
    `spec.worldbody.add_body(name="torso")`. `add_actuator`, `add_sensor`, ... add elements outside
    the world, with attributes as keywords. Where MJCF has several tags, the first argument is the
    tag: `spec.add_actuator("position", joint="knee", kp=10)`,
    `spec.add_sensor("gyro", site="imu")`.

    Attributes:
        modelname: name of the model.
        compiler, lengthrange, option, flag, size, statistic: attributes of these sections, with
            MuJoCo's defaults (`spec.option.timestep = 0.01`); `statistic` and `flag` hold only
            what was written.
        visual: attributes of the visual sub-sections, as written (`spec.visual.map.znear`).
        defaults: default classes by name.
        worldbody: the world; bodies and frames nest in it.
        elements: everything outside the world by kind, in document order: ``pair exclude
            equality tendon actuator sensor key numeric text tuple mesh hfield texture material
            skin``. Assets that are read from a file hold its path under ``path``.
        origins: where the sections are in their files, for messages.
        warnings: messages for the user.
        sources: the files it was read from: its own, included ones, and those of attached models.
        base: folder to which file names are relative.
        assets: contents of files given in memory.
        directories: folders that may hold files, besides `base` and those that enclose it.
        compiled: the elements of the last compiled model, for `recompile`.
        turns: how often a program has added something to a body.
        limits: how large the model may be.
    """

    modelname: str = "MuJoCo Model"
    compiler: Section = field(default_factory=functools.partial(_section, "compiler"))
    lengthrange: Section = field(default_factory=functools.partial(_section, "lengthrange"))
    option: Section = field(default_factory=functools.partial(_section, "option"))
    flag: Section = field(default_factory=lambda: Section("flag", {}))
    size: Section = field(default_factory=functools.partial(_section, "size"))
    statistic: Section = field(default_factory=lambda: Section("statistic", {}))
    visual: Sections = field(default_factory=lambda: Sections("visual", {}))
    defaults: dict[str, DefaultClass] = field(default_factory=lambda: read_defaults([]))
    origins: dict[str, Origin] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    base: str = ""
    assets: dict[str, bytes] = field(default_factory=dict)
    directories: tuple[str, ...] = ()
    compiled: dict[str, list[Element]] = field(default_factory=dict, repr=False)
    turns: int = 0
    limits: Limits = field(default_factory=Limits)

    def __repr__(self) -> str:
        inside = Counter(element.kind for element in self.worldbody.walk())
        counts = inside | {kind: len(found) for kind, found in self.elements.items() if found}
        rows = [(kind, str(count)) for kind, count in counts.items()]
        return table(f"Spec {self.modelname!r}, number of elements by kind", rows)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        directories: Iterable[str | os.PathLike[str]] = (),
        limits: Limits | None = None,
    ) -> "Spec":
        """Reads an MJCF or URDF file.

        It may refer to files in its own folder, in the folders that enclose it (except the root,
        the home and the temporary folder), and in `directories`. `limits` bounds the model's size.

        Raises:
            MjcfError: the file cannot be read or is not valid MJCF.
            UnsupportedFeature: the file uses something that mjjax cannot compile.
        """
        return work("Spec.from_file")(path, directories, limits)

    @classmethod
    def from_string(
        cls,
        xml: str | bytes,
        assets: Mapping[str, bytes] | None = None,
        directories: Iterable[str | os.PathLike[str]] = (),
        limits: Limits | None = None,
    ) -> "Spec":
        """Reads MJCF or URDF from a string, like `from_file`; `assets` maps names to contents."""
        return work("Spec.from_string")(xml, assets, directories=directories, limits=limits)

    def add_default(self, name: str, parent: str = "main") -> DefaultClass:
        """Adds and returns a default class that starts from the values of another one."""
        return work("Spec.add_default")(self, name, parent)

    def origin(self, section: str) -> Origin:
        """Where a section is in its file; a section that the file lacks has an origin too."""
        return self.origins.get(section, Origin(section))

    def delete(self, element: Element) -> None:
        """Removes an element, its children, and every pair, tendon, sensor, ... that refers to it.

        Its values are removed from keyframes.

        Raises:
            ValueError: the element is the world, or it is not in this model.
        """
        if element.spec is not self or element is self.worldbody:
            raise ValueError("the element is not in this model, or is its world")
        work("Spec.delete")(self, element)

    def attach(
        self,
        child: "Spec",
        prefix: str | None = None,
        suffix: str | None = None,
        *,
        site: "Element | str | None" = None,
        frame: "Element | str | None" = None,
    ) -> Element:
        """Puts a copy of another model, with its assets and all that refers to it, into this one.

        Args:
            child: the other model; its options are not taken over.
            prefix: text put before all its names; by default ``"/"``, as in MuJoCo.
            suffix: text put after all its names.
            site: site of this model, or its name, at which the copy is attached.
            frame: frame to attach it to instead. Without either, it goes to the world's origin.

        Returns:
            The frame that holds the copy.

        Raises:
            ValueError: there is no such site or frame, or both are given.
            UnsupportedFeature: the two models have compiler settings that cannot be combined.
        """
        if child is self or (site is not None and frame is not None):
            raise ValueError("attach another model, to a site or a frame")
        holder: Any = self.worldbody if site is None and frame is None else site or frame
        if isinstance(holder, str):
            holder = self._find("frames" if site is None else "sites", holder)
        if not isinstance(holder, Element) or holder.spec is not self:
            raise ValueError(f"there is no such {'frame' if site is None else 'site'} in the model")
        return work("Spec.attach")(self, child, holder, prefix, suffix)

    def copy(self, copies: dict[Element, Element] | None = None) -> "Spec":
        """An independent copy; if given, `copies` receives the copy of each element."""
        copies = {} if copies is None else copies
        return dataclasses.replace(
            self,
            compiler=self.compiler.copy(),
            lengthrange=self.lengthrange.copy(),
            option=self.option.copy(),
            flag=self.flag.copy(),
            size=self.size.copy(),
            statistic=self.statistic.copy(),
            visual=self.visual.copy(),
            defaults={name: default.copy() for name, default in self.defaults.items()},
            worldbody=self.worldbody.copy(copies),
            elements={k: [e.copy(copies) for e in found] for k, found in self.elements.items()},
            origins=dict(self.origins),
            warnings=list(self.warnings),
            sources=list(self.sources),
            assets=dict(self.assets),
            compiled={},
        )

    def compile(self) -> Any:
        """Compiles the `Model`; the description can then be edited and compiled again.

        Raises:
            MjcfError: the description is not a valid model.
            UnsupportedFeature: it uses something that mjjax cannot compile.
        """
        return work("Spec.compile")(self)

    def recompile(self, model: Any, data: Any) -> tuple[Any, Any]:
        """Compiles again, and keeps the state of everything that still exists.

        Args:
            model: the model that was last compiled from this description.
            data: data of one world of that model.

        Returns:
            The new model and its data. Elements that were there before keep positions, velocities,
            activations, controls, mocap poses and applied forces, and time continues. New elements
            start in the reference state.

        Raises:
            ValueError: the model was not compiled from this description.
        """
        return work("Spec.recompile")(self, model, data)

    def copy_back(self, model: Any) -> None:
        """Copies the real numbers of a changed model into this description (`mj_copyBack`).

        Call it after `model.replace(...)` and `set_const` to save the changes as MJCF. Numbers that
        did not change stay as they were written. It does not copy assets (except materials and the
        size of height fields), sizes of geoms that are fitted to a mesh, `qpos0` of free and ball
        joints, or cameras with a sensor size.

        Args:
            model: a model that was compiled from this description and then changed.

        Raises:
            ValueError: the model was compiled from another description, or settings (fusestatic,
                discardvisual) make the elements of the model differ from those described.
        """
        work("Spec.copy_back")(self, model)

    def to_xml(self) -> str:
        """MJCF text that reads back as the same model; macros are expanded."""
        return work("Spec.to_xml")(self)

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Writes MJCF to a file; if writing fails, an existing file is left unchanged.

        A file in another folder refers to the files of the model by full paths.
        """
        work("Spec.to_file")(self, path)
