"""Texts that MuJoCo's XML parser accepts or refuses differently from other parsers."""

import pytest

from mjjax import mjcf
from mjjax.core.errors import MjcfError
from tests.compiler.oracle import accepted_by_mujoco, assert_same, refused

WORLD = '<worldbody>\n<geom name="g" size=".1"/></worldbody>'
MODEL = f"<mujoco>{WORLD}</mujoco>"


@pytest.mark.parametrize(
    "after",
    [
        "</mujoco>",
        "\n</mujoco>\n<bogus>",
        "<mujoco><option timestep='1'/></mujoco>",
        "<worldbody><geom size='1'/></worldbody></mujoco>",
        "text<other/>",
        "text</mujoco>",
        "<![CDATA[<x>]]>",
        "<!DOCTYPE x>",
        "<!-- a -- b -->",
        "\0<",
    ],
)
def test_only_the_first_element_counts(after: str) -> None:
    """A tag that closes too early, and text after the model, change nothing."""
    ours = assert_same(MODEL + after)
    assert ours.sizes["ngeom"] == 1


@pytest.mark.parametrize(
    "text",
    [
        f"hello {MODEL}",
        f"<?xml version='1.0'?><?xml version='1.0'?>{MODEL}",
        f'\n<?xml version="1.0"?>{MODEL}',
        f"<mujoco>a & b{WORLD}</mujoco>",
        f'<mujoco model="a & b < c &foo; &lt;">{WORLD}</mujoco>',
        f"<mujoco model='\"quoted\"'><!-- a ---> {WORLD}</mujoco a='1'>",
        f"< mujoco>{WORLD}</mujoco >",
        MODEL.replace('"g" size', '"g"size'),
        "<mujoco/></mujoco>",
    ],
)
def test_loose_text_is_read(text: str) -> None:
    """Ampersands, comparison signs, comments and spaces as MuJoCo takes them."""
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{MODEL}<other>",
        f'{MODEL}<other a="1" a="2"/>',
        f"{MODEL}<a></b>",
        f"{MODEL}text",
        f"{MODEL}<",
        f"{MODEL}<!-- x",
        f"{MODEL}<?x y?>",
        f"<other/>{MODEL}",
        f"<!-- --><?xml version='1.0'?>{MODEL}",
        f"<mujoco><?x y?>{WORLD}</mujoco>",
        f"<mujoco>{WORLD}",
        f'<mujoco xmlns:a="u">{WORLD}</mujoco>',
        "<mujoco><worldbody></worldbody></worldbody></mujoco>",
        "<mujoco model=a/>",
        "<!-- nothing -->",
        "<?xml version='1.0'?><?xml version='1.0'?>",
    ],
)
def test_broken_text_is_refused(text: str) -> None:
    """Text that MuJoCo refuses, in the model or after it, is an error with a line."""
    assert not accepted_by_mujoco(text)
    with pytest.raises(MjcfError) as error:
        mjcf.read_string(text, file="m.xml")
    assert error.value.line


def test_lines_are_those_of_the_file() -> None:
    """Errors in a text that had to be rewritten name the line in the user's file."""
    text = (
        "\n<!-- a -- \n b -->\n<mujoco>\n<worldbody>\n<geom\n size='a'/></worldbody></mujoco>x<y/>"
    )
    assert refused(text).line == refused(text.replace("<!-- a -- \n b -->", "\n")).line == 7


IN_FRAME = """<mujoco>
  <default><default class="c"><geom size=".3"/></default></default>
  <worldbody>
    <{tag} {attributes}>
      <geom name="g" type="sphere" bogus="1"><bogus/></geom>
      <body class="c"><geom name="h" type="sphere" size=".1"/><geom name="i"/></body>
    </{tag}>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize(("tag", "count"), [("frame", ""), ("replicate", 'count="2" sep="_"')])
def test_unknown_attributes_in_frames_are_ignored(tag: str, count: str) -> None:
    """Unknown attributes of a replicate, such as `prefix`, are ignored with a warning."""
    xml = IN_FRAME.format(tag=tag, attributes=f'{count} class="c" prefix="p" name2="q"')
    ours = assert_same(xml)
    assert len(ours.warnings) == 4 and "'prefix' is ignored" in ours.warnings[0]


@pytest.mark.parametrize(
    "xml",
    [
        IN_FRAME.format(tag="body", attributes=""),
        IN_FRAME.format(tag="frame", attributes='class="none"'),
        IN_FRAME.format(tag="frame", attributes='class="c"').replace("body", "bodi"),
    ],
)
def test_what_counts_in_frames_is_checked(xml: str) -> None:
    """Elsewhere, unknown attributes, elements and classes are errors."""
    refused(xml)
