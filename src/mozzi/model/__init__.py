"""Mechanisms as immutable data: joints, bodies, loops, models, and the builder that makes them."""

from mozzi.model.actuator import Actuator
from mozzi.model.body import Body, JointDynamics
from mozzi.model.builder import Builder
from mozzi.model.constraints.contact import Contact
from mozzi.model.constraints.loop import Coupling, Distance, Loop, Spring
from mozzi.model.constraints.rolling import Drive, Guided, Rolling, VelocityRows
from mozzi.model.content import Closure
from mozzi.model.joints.axes import (
    Cylindrical,
    Fixed,
    Prismatic,
    Revolute,
    Screw,
    Translation2,
    Translation3,
    Universal,
)
from mozzi.model.joints.composite import Composite
from mozzi.model.joints.joint import JOINT_TYPES, Joint, example_joints
from mozzi.model.joints.planar import Planar, PlanarScrew, Schoenflies
from mozzi.model.joints.spatial import Free, Spherical
from mozzi.model.model import Model
from mozzi.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Torus,
)
from mozzi.model.surfaces import Surface

__all__ = [
    "JOINT_TYPES",
    "Actuator",
    "Body",
    "Box",
    "Builder",
    "Capsule",
    "Closure",
    "Composite",
    "Contact",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "Disc",
    "Distance",
    "Drive",
    "Ellipsoid",
    "Fixed",
    "Free",
    "Guided",
    "HeightField",
    "Joint",
    "JointDynamics",
    "Loop",
    "Mesh",
    "Model",
    "Planar",
    "PlanarScrew",
    "Plane",
    "Prismatic",
    "Revolute",
    "Rolling",
    "Schoenflies",
    "Screw",
    "Shape",
    "Sphere",
    "Spherical",
    "Spring",
    "Surface",
    "Torus",
    "Translation2",
    "Translation3",
    "Universal",
    "VelocityRows",
    "example_joints",
]
