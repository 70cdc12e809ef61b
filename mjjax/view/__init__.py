"""Worlds in a browser: a window that runs them, and pages that play a recording.

`serve(model)` opens the window (`mjjax view MODEL`); `html(model, trajectory)` makes a page that
needs no server. Both need the extra `view`: `pip install 'mjjax[view]'`.
"""

from mjjax.view.recording import Page, html
from mjjax.view.viewer import serve

__all__ = ["Page", "html", "serve"]
