"""Files that are complete or not there."""

import contextlib
import os
import tempfile


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file; whatever happens, `path` holds either all of `content` or what it held."""
    path = os.path.abspath(os.fspath(path))
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".mjjax-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise
