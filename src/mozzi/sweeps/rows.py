# pyright: basic
# (pyarrow is not typed)
"""A row for every sample of a sweep: .parquet and .csv."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mozzi.errors import ConfigurationError, ExtraMissingError
from mozzi.files import write_atomically

if TYPE_CHECKING:
    from mozzi.sweeps.sweep import Swept

__all__ = ["check_format", "save"]


def check_format(path: Path) -> None:
    """Whether rows can be written to a file of this name."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigurationError(f"{path}: no format {path.suffix!r}; save as .parquet or .csv")


def save(swept: Swept, path: Path) -> Path:
    """Write the rows."""
    check_format(path)
    size = swept.table.size
    columns: dict[str, NDArray[np.generic]] = {}
    for name, x in {**swept.parameters, **swept}.items():
        if x.shape[:1] != (size,):
            raise ConfigurationError(f"{path}: reductions have no rows; save their store instead")
        if x.ndim == 1:
            columns[name] = x
        else:
            flat = x.reshape(size, -1)
            columns |= {f"{name}.{k}": flat[:, k] for k in range(flat.shape[1])}
    write = _parquet if path.suffix == ".parquet" else _csv
    return write_atomically(path, lambda file: write(columns, file))


def _parquet(columns: dict[str, NDArray[np.generic]], file: IO[bytes]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ExtraMissingError("Parquet needs pyarrow: pip install pyarrow") from None
    table = pyarrow.table(columns)
    pyarrow.parquet.write_table(table, file)


def _csv(columns: dict[str, NDArray[np.generic]], file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))
    text.flush()
    text.detach()
