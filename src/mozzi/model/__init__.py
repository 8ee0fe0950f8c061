"""Mechanisms as immutable data: joints, bodies, loops, models, and the builder that makes them."""

from mozzi.model.body import Body, JointDynamics
from mozzi.model.builder import Builder
from mozzi.model.joints.composite import Composite
from mozzi.model.joints.joint import (
    JOINT_TYPES,
    Cylindrical,
    Fixed,
    Joint,
    Prismatic,
    Revolute,
    Screw,
    Translation2,
    Translation3,
    Universal,
    example_joints,
)
from mozzi.model.joints.planar import Planar, PlanarScrew, Schoenflies
from mozzi.model.joints.spatial import Free, Spherical
from mozzi.model.loop import Coupling, Distance, Loop, Spring
from mozzi.model.model import Model

__all__ = [
    "JOINT_TYPES",
    "Body",
    "Builder",
    "Composite",
    "Coupling",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Free",
    "Joint",
    "JointDynamics",
    "Loop",
    "Model",
    "Planar",
    "PlanarScrew",
    "Prismatic",
    "Revolute",
    "Schoenflies",
    "Screw",
    "Spherical",
    "Spring",
    "Translation2",
    "Translation3",
    "Universal",
    "example_joints",
]
