"""``mozzi cache``: what compiled kernels are kept on disk, and how to be rid of them."""

from __future__ import annotations

from typing import Annotated

import typer

from mozzi.cli.console import escape, put

__all__ = ["cache"]


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all kernels.")] = False,
) -> None:
    """Show the kernels that are kept on disk, or remove them.

    MOZZI_CACHE=0 switches the cache off, MOZZI_CACHE_DIR moves it.
    """
    from mozzi.targets import disk_cache

    base = disk_cache.folder()
    if base is None:
        put("no cache: MOZZI_CACHE is off, or there is no home folder")
        return
    if clear:
        removed = disk_cache.clear(base)
        put(f"{removed:,} kernels removed from {escape(str(base))}")
        return
    count, size = disk_cache.contents(base)
    most = disk_cache.MAX_TOTAL / 2**20
    put(f"{count:,} kernels, {size / 2**20:.1f} MB of {most:.0f} MB, in {escape(str(base))}")
