"""Run the command line as ``python -m sklearn_rank.cli``."""

import sys

from sklearn_rank.cli import main

if __name__ == "__main__":
    sys.exit(main())
