"""What `import PyNvVideoCodec` gives under `python -m lanner.compat`."""

import sys

import lanner.compat.PyNvVideoCodec as _module

sys.modules[__name__] = _module
