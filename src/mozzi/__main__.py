"""``python -m mozzi`` is the command ``mozzi``."""

from mozzi.cli import main

if __name__ == "__main__":
    main()
