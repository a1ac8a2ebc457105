"""``python -m sim.cli``, the same as ``savegap``."""

from sim.cli import main

main()
