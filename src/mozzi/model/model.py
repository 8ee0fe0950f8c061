"""A mechanism as immutable data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import cast, final

from mozzi.checked import checked
from mozzi.errors import KindError
from mozzi.model.closeness import same
from mozzi.model.content import GRAVITY, Frame, key_of
from mozzi.model.interface.changes import Changes
from mozzi.model.interface.parts import WORLD

__all__ = ["GRAVITY", "WORLD", "Frame", "Model"]


@final
class Model(Changes):
    """A mechanism: bodies in a tree of joints, frames and shapes on them, loops that close the
    tree.

    Body 0 is the first moving body, the world is parent −1, and parents come before their
    children. q and v are ordered as the bodies are. Models are immutable and picklable; models
    with equal content are equal, have the same `digest`, and hash alike. Make one with `Builder`,
    a loader or `mozzi.model.generate.mechanisms`.

    Example:
        >>> arm = mz.load("arm.urdf")
        >>> arm.nq, arm.nv, arm.joint_names
        (3, 3, ('joint_1', 'joint_2', 'joint_3'))
    """

    def _replace(self, **changes: object) -> Model:
        new = _restore(self.content() | changes)
        new._set(nominal=self.nominal, rows_depend=self.rows_depend)
        return new

    def _varied(self, **changes: object) -> Model:
        """A copy with parts that hold other scalars, traced ones among them: what `vary` makes."""
        new = self._replace(**changes)
        new._set(nominal=self.nominal or self)
        return new

    @property
    def key(self) -> tuple[object, ...]:
        """The content of the model as a nested tuple of strings and numbers."""
        key = self._key
        if key is None:
            key = tuple((word, key_of(part)) for word, part in self.content().items())
            self._set(_key=key)
        return key

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that depend on the content only: the same in every run."""
        digest = self._digest
        if digest is None:
            text = repr(("mozzi.Model.2", self.key))
            digest = hashlib.sha256(text.encode()).hexdigest()
            self._set(_digest=digest)
        return digest

    @checked
    def close_to(self, other: Model, tolerance: float = 1e-9) -> bool:
        """Whether the other model is the same mechanism to rounding: names and kinds are equal,
        numbers agree, and joints move alike wherever on their axes their frames stand.

        Args:
            other: a model.
            tolerance: how far numbers may be apart, relative where they are above 1.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.close_to(arm.with_name("arm"))
            True
        """
        if not isinstance(other, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            fact = f"{other!r:.60} is no model"
            raise KindError("close_to", "other", other, "one to compare with", fact)
        return self == other or same(self, other, tolerance)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Model) and hash(self) == hash(other) and self.key == other.key

    def __hash__(self) -> int:
        value = self._hash
        if value is None:
            value = hash(self.key)
            self._set(_hash=value)
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.content(),))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Model is immutable; make a changed copy with the with_... methods")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Model is immutable; make a changed copy with the with_... methods")

    def _repr_html_(self) -> str:
        """The tree of bodies as a table, in a notebook."""
        from mozzi.viz.notebook import model_html

        return model_html(self)

    def __repr__(self) -> str:
        loops = len(self.loops) + len(self.distances)
        tail = f", loops={loops}" if loops else ""
        tail += f", couplings={len(self.couplings)}" if self.couplings else ""
        tail += f", springs={len(self.springs)}" if self.springs else ""
        tail += f", shapes={len(self.shapes)}" if self.shapes else ""
        tail += f", contacts={len(self.contacts)}" if self.contacts else ""
        tail += f", rollings={len(self.rollings)}" if self.rollings else ""
        tail += f", velocity_rows={len(self.velocity_rows)}" if self.velocity_rows else ""
        return f"Model({self.name!r}, nb={self.nb}, nq={self.nq}, nv={self.nv}{tail})"


def _restore(content: Mapping[str, object]) -> Model:
    return cast("Callable[..., Model]", Model)(**content)
