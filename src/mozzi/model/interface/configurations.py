"""Configurations of a model: neutral, named, random; checked and normalised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from mozzi.checked import checked, is_whole
from mozzi.errors import ConfigurationError, KindError, UnknownNameError, known
from mozzi.model.constraints.mimic_coordinates import coupled, followed
from mozzi.model.interface.parts import Parts
from mozzi.types import Array, ArrayLike, Seed

__all__ = ["Configurations"]


class Configurations(Parts):
    """What a model knows of its q."""

    def neutral(self) -> Array:
        """The configuration (nq,) in which every joint has the pose 1.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.neutral().tolist()
            [0.0, 0.0, 0.0]
        """
        return np.array([x for body in self._bodies for x in body.joint.neutral()], dtype=float)

    @property
    def configurations(self) -> Mapping[str, Array]:
        """Named configurations (nq,): start poses, keyframes and group states of the file.

        What a state does not name is neutral, or follows by couplings from what it names.
        """
        found = _Named(self.name)
        for state in self._configurations:
            q = self.neutral()
            for joint, values in state.joints:
                q[self.q_slices[joint]] = values
            found[state.name] = coupled(self._model, q, [joint for joint, _ in state.joints])
        return MappingProxyType(found)

    @checked
    def random_configuration(
        self, rng: Seed = None, batch: int | tuple[int, ...] = (), *, closed: bool = True
    ) -> Array:
        """Configurations (*batch, nq), within the limits of the joints where they are finite.

        ``rng`` is a NumPy generator or a seed. Unlimited angles are uniform on the circle,
        quaternions uniform on the rotations, and unlimited lengths uniform in [−1, 1). Couplings
        are satisfied and loops are closed from there, unless ``closed`` is False.

        Raises:
            LoopError: no closed configuration within the limits was found.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.random_configuration(0, 5).shape
            (5, 3)
        """
        rng = np.random.default_rng(rng)
        batch = (batch,) if isinstance(batch, (int, np.integer)) else tuple(batch)
        if not all(is_whole(n) and n >= 0 for n in batch):
            raise KindError("random_configuration", "batch", batch, "how many, 0 or more")
        if closed and (self.loops or self.distances or self.rollings):
            from mozzi.algorithms.loops.random import random_closed

            return random_closed(self._model, rng, batch)
        if closed and self.couplings:
            return self._random_coupled(rng, batch)
        q = np.empty((*batch, self.nq))
        k = 0
        for body in self._bodies:
            dynamics = body.dynamics
            for x, low, high in zip(
                body.joint.random(rng, batch), dynamics.lower, dynamics.upper, strict=True
            ):
                if np.isfinite(low) or np.isfinite(high):
                    span = high - low if np.isfinite(high - low) else 1.0
                    u = rng.random(batch) * span
                    x = low + u if np.isfinite(low) else high - u
                q[..., k] = x
                k += 1
        return q

    def _random_coupled(self, rng: np.random.Generator, batch: tuple[int, ...]) -> Array:
        """Followers from leaders, drawn again where a follower leaves its limits; the nearest ones
        where that does not end.
        """
        count = math.prod(batch)
        out, left = np.empty((count, self.nq)), np.arange(count)
        for _ in range(20):
            tried = followed(self._model, self.random_configuration(rng, len(left), closed=False))
            good = np.isfinite(tried).all(axis=-1)
            out[left[good]] = tried[good]
            left = left[~good]
        if len(left):
            rest = self.random_configuration(rng, len(left), closed=False)
            out[left] = coupled(self._model, rest)
        return out.reshape(*batch, self.nq)

    @checked
    def check_configuration(self, q: ArrayLike) -> Array:
        """q as an array of floats, if it is a configuration of this model: nq finite numbers, unit
        quaternions.

        A quaternion within 1e-6 of unit length is accepted; `normalize` makes it exact.

        Example:
            >>> arm = mz.load("arm.urdf")
            >>> arm.check_configuration([0, 0, 1]).tolist()
            [0.0, 0.0, 1.0]
        """
        try:
            if np.iscomplexobj(q):
                raise TypeError
            q = np.asarray(q, dtype=float)
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"model {self.name!r}: q is {q!r}; give nq = {self.nq} numbers"
            ) from None
        self._check_shape(q)
        if not np.isfinite(q).all():
            *sample, k = map(int, np.argwhere(~np.isfinite(q))[0])
            raise ConfigurationError(
                f"model {self.name!r}: q[{k}] of {self.q_names[k]!r} is not finite"
                f"{_in_sample(sample)}; give finite numbers"
            )
        for body, start in zip(self._bodies, self.q_offsets, strict=False):
            for k in body.joint.quaternions:
                norm = np.linalg.norm(q[..., start + k : start + k + 4], axis=-1)
                if np.any(off := abs(norm - 1.0) > 1e-6):
                    sample = tuple(map(int, np.argwhere(off)[0]))
                    raise ConfigurationError(
                        f"joint {body.joint_name!r}: quaternion of length {norm[sample]:.9g}"
                        f"{_in_sample(sample)}; scale it to length 1, as model.normalize(q) does "
                        "(a zero quaternion is no rotation)"
                    )
        return q

    def _check_shape(self, q: Array) -> None:
        if q.ndim == 0 or q.shape[-1] != self.nq:
            raise ConfigurationError(
                f"model {self.name!r}: q has shape {q.shape}; "
                f"give nq = {self.nq} numbers on the last axis"
            )

    @checked
    def normalize(self, q: ArrayLike) -> Array:
        """q with its quaternions scaled to unit length.

        Example:
            >>> ball = mz.load("ball.urdf", base="free")
            >>> q = ball.normalize(2.0 * ball.neutral())
            >>> bool(np.isclose(np.linalg.norm(q[list(ball.quaternions)[0] :][:4]), 1.0))
            True
        """
        q = np.array(q, dtype=float)
        self._check_shape(q)
        for body, start in zip(self._bodies, self.q_offsets, strict=False):
            for k in body.joint.quaternions:
                part = q[..., start + k : start + k + 4]
                norm = np.linalg.norm(part, axis=-1, keepdims=True)
                if not np.all(norm > 0.0):
                    raise ConfigurationError(
                        f"joint {body.joint_name!r}: a zero quaternion is no rotation; "
                        "give a non-zero one"
                    )
                part /= norm
        return q


class _Named(dict[str, Array]):
    """Configurations by name, which say what names there are."""

    def __init__(self, model: str) -> None:
        self.model = model

    def __missing__(self, name: str) -> Array:
        raise UnknownNameError(
            f"model {self.model!r} has no configuration {name!r}; it has {known(name, self)}"
        )


def _in_sample(sample: Sequence[int]) -> str:
    """Which one of a batch, in words."""
    return f" in sample {list(sample)}" if sample else ""
