"""What `import Utils` gives under `python -m lanner.compat`, for scripts that have no such file beside them."""

import sys

import lanner.compat.Utils as _module

sys.modules[__name__] = _module
