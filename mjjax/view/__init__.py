"""Worlds in a browser: a window that runs them, and pages that play a recording.

`serve(model)` opens the window (`mjjax view MODEL`), `watch(env, policy)` shows in it what a policy
does (`mjjax play DIR`), and `html(model, trajectory)` makes a page that needs no server. All need
the extra `view`: `pip install 'mjjax[view]'`.
"""

from mjjax.view.recording import Page, html
from mjjax.view.viewer import serve, watch

__all__ = ["Page", "html", "serve", "watch"]
