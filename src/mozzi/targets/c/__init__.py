"""The C target: a program as one readable C function.

`source` writes it, with the spelling of `words`; `check` writes a main program that checks it.
"""

from mozzi.targets.c.source import build as build
