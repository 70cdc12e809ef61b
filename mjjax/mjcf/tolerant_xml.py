"""Rewrites XML that MuJoCo's parser accepts and others refuse, so that others accept it too.

MuJoCo's parser knows elements, attributes, comments and five entities. It takes ``&`` and ``<`` as
they are, and needs no space between attributes. Elements after the first one are checked but not
used. After an end tag too many, nothing more is read.
"""

import re
from dataclasses import dataclass, field

from mjjax.core.errors import MjcfError

_NAME = r"(?:[A-Za-z_:]|[^\x00-\x7f])(?:[A-Za-z0-9_:.\-]|[^\x00-\x7f])*"
_BLANK = re.compile(r"[ \t\r\n\v\f]*")
_TAG = re.compile(rf"<[ \t\r\n\v\f]*(/?)({_NAME})")
_ATTRIBUTE = re.compile(
    rf"[ \t\r\n\v\f]*({_NAME})[ \t\r\n\v\f]*=[ \t\r\n\v\f]*(?:\"([^\"]*)\"|'([^']*)')"
)
_END = re.compile(r"[ \t\r\n\v\f]*(/?)>")
_AMPERSAND = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Beginnings and ends of the parts of a text that are skipped.
_SKIPPED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"))


def rewritten(text: str, file: str) -> str:
    """The first element of a text as XML proper, each element in the line in which it was.

    Raises:
        MjcfError: MuJoCo refuses the text too.
    """
    return _Rewriter(text.partition("\0")[0], file).run()


@dataclass
class _Rewriter:
    """A text, and how far it has been read.

    Attributes:
        text: the text.
        file: its path, for messages.
        at: place of the next character.
        line: line of the next character.
        found: the rewritten text so far.
        open: names of the elements that are open.
        begun: whether something other than a declaration was read.
        done: whether the first element is complete.
    """

    text: str
    file: str
    at: int = 0
    line: int = 1
    found: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    begun: bool = False
    done: bool = False

    def run(self) -> str:
        while self._more():
            pass
        if self.open:
            raise self._error(f"<{self.open[-1]}> is not closed")
        return "".join(self.found)

    def _error(self, what: str) -> MjcfError:
        return MjcfError(f"broken XML: {what}", file=self.file, line=self.line)

    def _pass(self, end: int, head: str = "", rest: str = "") -> None:
        """Goes on to `end`; the new text, in two parts, gets as many lines as the old text."""
        lines = self.text.count("\n", self.at, end)
        if not self.done:
            self.found.append(head + "\n" * (lines - rest.count("\n")) + rest)
        self.at, self.line = end, self.line + lines

    def _skip(self, closing: str, start: int) -> None:
        end = self.text.find(closing, start)
        if end < 0:
            raise self._error(f"there is no {closing!r}")
        self._pass(end + len(closing))

    def _more(self) -> bool:
        """Reads one node, and returns whether there may be another one."""
        blank = _BLANK.match(self.text, self.at)
        self._pass(blank.end() if blank else self.at)
        if self.at == len(self.text):
            return False
        if self.text.startswith("<?", self.at):
            if self.begun:
                raise self._error("declarations <? ?> can only stand at the beginning")
            self._skip("?>", self.at)
            return True
        self.begun = True
        for opening, closing in _SKIPPED:
            if self.text.startswith(opening, self.at):
                self._skip(closing, self.at + len(opening))
                return True
        if self.text[self.at] == "<":
            return self._tag()
        end = self.text.find("<", self.at)
        if end < 0:
            raise self._error("there is text at the end of the file")
        self._pass(end)
        return True

    def _tag(self) -> bool:
        """Reads a start or end tag; returns False if it closes an element that is not open."""
        tag = _TAG.match(self.text, self.at)
        if tag is None:
            raise self._error("an element has no name")
        closes, name = tag.groups()
        end, attributes = tag.end(), []
        while attribute := _ATTRIBUTE.match(self.text, end):
            end = attribute.end()
            attributes.append((attribute[1], attribute[2] or attribute[3] or ""))
        last = _END.match(self.text, end)
        if last is None:
            raise self._error(f"the attributes of <{name}> are not of the form name='value'")
        if closes and not self.open:
            return False
        if len(dict(attributes)) < len(attributes):
            raise self._error(f"<{name}> has the same attribute twice")
        plain = name.replace(":", ".")  # prefixes mean nothing here
        if closes:
            if self.open.pop() != name:
                raise self._error(f"</{name}> ends another element")
            self._pass(last.end(), f"</{plain}", ">")
        else:
            texts = (f' {key.replace(":", ".")}="{_escaped(value)}"' for key, value in attributes)
            self._pass(last.end(), f"<{plain}", f"{''.join(texts)}{last[1]}>")
            if not last[1]:
                self.open.append(name)
        self.done = self.done or not self.open
        return True


def _escaped(value: str) -> str:
    value = _AMPERSAND.sub("&amp;", value).replace("<", "&lt;").replace('"', "&quot;")
    return _CONTROL.sub("\ufffd", value)
