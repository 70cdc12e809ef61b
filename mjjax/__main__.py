"""`python -m mjjax` is the command `mjjax`."""

import sys

from mjjax.cli import main

sys.exit(main())
