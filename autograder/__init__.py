"""The instructor's tools: build the lessons; collect, grade and report a class."""

import os
import sys
from pathlib import Path

# nbgrader starts `alembic` by name; it lies beside this interpreter, even if its environment is not active.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
