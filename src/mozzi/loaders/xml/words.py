"""The words of a format: a misspelt one is an error that names the nearest known one.

A table lists elements, indented under their parents, each with its attributes (``@name``). A star
marks what the format leaves to others (``gazebo*``, ``@current*``): it passes, is not looked into,
and is noted. A question mark (``gazebo?``) marks what others may add to. Words with a colon belong
to an extension and pass as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mozzi.errors import nearest
from mozzi.loaders.source import Notes
from mozzi.loaders.xml.strict import Element

__all__ = ["Word", "check_words", "table"]


@dataclass(slots=True)
class Word:
    """An element: what may stand in it. The value of an attribute says whether it is read."""

    attributes: dict[str, bool] = field(default_factory=dict[str, bool])
    children: dict[str, Word] = field(default_factory=lambda: {})
    foreign: bool = False
    """Left to others: passed over, with a note."""
    shared: bool = False
    """Words of others may stand in it: passed over, with a note."""
    unchecked: bool = False
    """Somebody else checks what stands in it."""


def table(text: str) -> Word:
    """The words of an indented table; its first line is the root."""
    root = Word()
    stack: list[tuple[int, Word]] = []
    for line in filter(str.strip, text.splitlines()):
        tag, *attributes = line.split()
        depth = len(line) - len(line.lstrip())
        word = Word({a[1:].rstrip("*"): not a.endswith("*") for a in attributes})
        word.foreign, word.shared = tag.endswith("*"), tag.endswith("?")
        while stack and stack[-1][0] >= depth:
            stack.pop()
        (stack[-1][1] if stack else root).children[tag.rstrip("*?")] = word
        stack.append((depth, word))
    return root


def check_words(
    root: Element, words: Word, what: str, notes: Notes, *, strict: bool = True
) -> None:
    """Refuse elements and attributes that a format does not have (not strict: note them)."""
    stack = [(root, words.children[root.tag])]
    passed: dict[str, list[Element]] = {}
    while stack:
        element, word = stack.pop()
        for name in element.attributes:
            if not word.attributes.get(name, False) and ":" not in name and name != "xmlns":
                if name in word.attributes or word.shared or not strict:
                    passed.setdefault(f"attribute {name!r} of <{element.tag}>", []).append(element)
                    continue
                known = (w for w, read in word.attributes.items() if read)
                raise element.error(
                    f"has the attribute {name!r}, which {what} does not know",
                    _remedy(name, known, "attributes"),
                    thing=element.thing,
                )
        for child in element:
            inner = word.children.get(child.tag)
            if inner is None and ":" not in child.tag and strict and not word.shared:
                known = (w for w, x in word.children.items() if not x.foreign)
                raise child.error(
                    f"<{child.tag}> is no element that {what} knows in <{element.tag}>",
                    _remedy(child.tag, known, "elements"),
                    thing=element.thing,
                )
            if inner is not None and inner.unchecked:
                continue
            if inner is None or inner.foreign:
                passed.setdefault(f"<{child.tag}> in <{element.tag}>", []).append(child)
            else:
                stack.append((child, inner))
    for thing, elements in passed.items():
        often = f" ({len(elements)} times)" if len(elements) > 1 else ""
        notes.leave(min(elements, key=lambda e: e.line).place, thing, f"is not read{often}")


def _remedy(word: str, known: Iterable[str], kind: str) -> str:
    first, *others = nearest(word, known) or [""]
    if not first:
        return f"remove it: no {kind} are known here"
    return f"did you mean {first!r}? The {kind} here are {', '.join([first, *others])}"


# -- the formats -------------------------------------------------------------------------------

_URDF_SHAPE = """
      origin @xyz @rpy @quat_xyzw
      geometry @name
        box @size
        cylinder @radius @length
        capsule @radius @length
        sphere @radius
        mesh @filename @scale
      material @name
        color @rgba
        texture @filename
      verbose* @value
      contact_coefficients @mu @kp @kd
"""

URDF = table(
    f"""
robot @name @version
  material @name
    color @rgba
    texture @filename
  link @name @type*
    inertial
      origin @xyz @rpy @quat_xyzw
      mass @value
      inertia @ixx @ixy @ixz @iyy @iyz @izz
    visual @name{_URDF_SHAPE}
    collision @name @group*{_URDF_SHAPE}
    origin*
    gravity*
    kinematic*
    self_collide*
    surface*
    contact*
    self_filter*
    collision_checking*
    sensor*
  joint @name @type @dont_collapse*
    origin @xyz @rpy @quat_xyzw
    parent @link
    child @link
    axis @xyz
    limit @lower @upper @effort @velocity @acceleration* @deceleration* @jerk* @command_effort* @current* @gear_velocity*
    dynamics @damping @friction @D* @K* @mu_coulomb* @mu_viscous*
    mimic @joint @multiplier @offset
    calibration*
    safety_controller*
    joint_properties*
    hardwareInterface*
  transmission*
  gazebo? @reference
    mu1 @value
    mu2 @value
    kp @value
    kd @value
  sensor*
  ros2_control*
  plugin*
  group*
  disable_collisions*
"""  # noqa: E501
)

_POSE = "pose @relative_to @rotation_format @degrees @frame"
_AXIS = """
        xyz @expressed_in
        use_parent_model_frame
        initial_position*
        dynamics
          damping
          friction
          spring_reference
          spring_stiffness
        limit
          lower
          upper
          effort
          velocity
          stiffness*
          dissipation*
        mimic @joint @axis
          multiplier
          offset
          reference
"""
_SDF_SHAPE = f"""
        {_POSE}
        frame*
        geometry
          empty
          box
            size
          sphere
            radius
          cylinder
            radius
            length
          capsule
            radius
            length
          ellipsoid
            radii
          plane
            normal
            size
          mesh @optimization*
            uri
            scale
            submesh*
            convex_decomposition*
          cone*
          heightmap*
          image*
          polyline*
        material
          ambient
          diffuse
          specular
          emissive
          shininess
          lighting*
          render_order*
          double_sided*
          shader*
          script*
          pbr*
        surface
          friction
            ode
              mu
              mu2
              fdir1*
              slip1*
              slip2*
            bullet*
            torsional*
          bounce
            restitution_coefficient
            threshold*
          contact
            ode
              kp
              kd
              soft_cfm*
              soft_erp*
              max_vel*
              min_depth*
            bullet*
            collide_without_contact*
            collide_without_contact_bitmask*
            collide_bitmask*
            category_bitmask*
            poissons_ratio*
            elastic_modulus*
          soft_contact*
        laser_retro*
        max_contacts*
        density*
        auto_inertia_params*
        cast_shadows*
        transparency*
        visibility_flags*
        meta*
        plugin*
"""

_SDF_MODEL = f"""
    static
    {_POSE}
    self_collide*
    allow_auto_disable*
    enable_wind*
    plugin*
    gripper*
    include @merge*
      uri*
      name*
      pose*
      static*
      placement_frame*
      plugin*
    model*
    frame @name @attached_to
      {_POSE}
    link @name
      {_POSE}
      inertial @auto
        {_POSE}
        mass
        inertia
          ixx
          ixy
          ixz
          iyy
          iyz
          izz
        frame*
        density*
        auto_inertia_params*
        fluid_added_mass*
      visual @name{_SDF_SHAPE}
      collision @name{_SDF_SHAPE}
      gravity*
      enable_wind*
      self_collide*
      kinematic*
      must_be_base_link*
      velocity_decay*
      sensor*
      projector*
      audio_sink*
      audio_source*
      battery*
      light*
      particle_emitter*
      plugin*
      frame*
    joint @name @type
      {_POSE}
      parent
      child
      thread_pitch
      screw_thread_pitch
      axis{_AXIS}
      axis2{_AXIS}
      physics*
      gearbox_ratio*
      gearbox_reference_body*
      sensor*
      plugin*
      frame*
"""

SDF = table(
    f"""
sdf @version
  model @name @canonical_link @placement_frame{_SDF_MODEL}
  world @name
    gravity
    include*
    physics*
    scene*
    light*
    frame*
    plugin*
    gui*
    actor*
    road*
    magnetic_field*
    atmosphere*
    wind*
    audio*
    spherical_coordinates*
    state*
    population*
    joint*
    model*
"""
)
SDF.children["sdf"].children["world"].children["model"] = SDF.children["sdf"].children["model"]
