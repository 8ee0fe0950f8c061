# pyright: reportConstantRedefinition=false
"""From a description to a model: the tree is spanned, checked and handed to the builder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mozzi.errors import ModelError, UnphysicalWarning, known, warn
from mozzi.lie import SE3, Inertia
from mozzi.loaders.description import Description, Edge, Link
from mozzi.loaders.geometry import names_of
from mozzi.loaders.principal_moments import POINT, body_defect, defect, massless
from mozzi.loaders.source import Note, Place
from mozzi.model import Builder, Fixed, Free, Model
from mozzi.model.frames import is_identity

__all__ = ["Tree", "assemble", "span", "unphysical_links"]

BASES = ("fixed", "free")


@dataclass(slots=True)
class Tree:
    """The joints of a description from the root outwards, parents first, depth first."""

    root: str
    order: list[Edge] = field(default_factory=list[Edge])


def assemble(
    found: Description,
    base: str = "fixed",
    physical: bool | str = True,
    couplings: bool = True,
    contacts: bool = False,
) -> Model:
    """The model of a description, with or without its couplings and contacts."""
    if base not in BASES:
        raise ModelError(f"base={base!r} is unknown; choose one of {known(base, BASES)}")
    if physical not in (True, False, "warn"):
        raise ModelError(f"physical={physical!r} is unknown; choose True, False or 'warn'")
    tree = span(found)
    if base == "free":
        _free_the_base(found, tree)
    if couplings:
        _check_mimics(found)
    _judge(found, tree, base, physical)
    gravity = {} if found.gravity is None else {"gravity": found.gravity}
    builder = Builder(found.name or "robot", **gravity)
    with _At(found.place):
        floats = base == "free" and tree.root != found.world
        joint = Free() if floats else Fixed().between(found.root_pose)
        root = _fresh("root_joint" if floats else "root_fixed", found)
        builder.add(tree.root, None, joint, found.links[tree.root].inertia, joint_name=root)
    for edge in tree.order:
        with _At(edge.place):
            joint = Fixed().between(edge.pose) if edge.joint is None else edge.joint
            inertia, data = found.links[edge.child].inertia, edge.dynamics
            builder.add(
                edge.child, edge.parent, joint, inertia,
                joint_name=edge.name, rep="body", dynamics=None, **data,
            )  # fmt: skip
    for name, link, T in found.frames:
        if name not in found.links:
            builder.frame(name, link, T)
    for loop in found.loops:
        with _At(loop.place):
            builder.loop(loop.name, loop.link_a, loop.link_b, loop.joint, loop.pose_a, loop.pose_b)
    for edge in tree.order if couplings else ():
        if edge.mimic is not None:
            with _At(edge.mimic.place):
                terms = {edge.name: 1.0, edge.mimic.joint: -edge.mimic.multiplier}
                builder.coupling(edge.name, terms, edge.mimic.offset)
    for coupling in found.couplings if couplings else ():
        with _At(coupling.place):
            builder.coupling(coupling.name, coupling.terms, coupling.offset)
    for name, shape in zip(names_of(found.shapes), found.shapes, strict=True):
        with _At(shape.place):
            made = shape.geometry, shape.pose, name, shape.role, shape.color, shape.surface
            builder.shape(shape.link, *made)
    for actuator in found.actuators:
        with _At(actuator.place):
            builder.actuator(actuator.name, actuator.joint, **actuator.numbers)
    with _At(found.place):
        _add_states(builder, found, tree, root if floats else None)
        model = builder.build(physical=False)
    if not contacts and found.contact_pairs:
        found.notes.leave(
            found.place, "contact",
            f"of {found.contact_pairs} pairs of shapes is left out; contacts=True (--contacts) "
            "reads it",
        )  # fmt: skip
    return _touching(model, found) if contacts else model


def _touching(model: Model, found: Description) -> Model:
    """The model with the contacts that the file lets be."""
    if found.contacts is None:
        raise found.place.error(
            "contacts", f"{found.format} does not say which shapes touch",
            "load without contacts, then take model.with_ground(...) or with_contact(...)",
        )  # fmt: skip
    names = names_of(found.shapes)
    for x in found.contacts():
        with _At(x.place):
            a, b = names[x.a], names[x.b]
            model = model.with_contact(f"{a}:{b}", a, b, friction=x.friction)
    return model


def _add_states(builder: Builder, found: Description, tree: Tree, root: str | None) -> None:
    """Named configurations; ``"start"`` where something does not start at neutral."""
    sizes = {edge.name: edge.joint.nq for edge in tree.order if edge.joint is not None}
    if root is not None:
        sizes[root] = 7
    start = {joint: q for joint, q in found.states.get("start", {}).items() if joint in sizes}
    if root is not None and not is_identity(found.root_pose):
        start[root] = _coordinates(found.root_pose)
    for edge in tree.order:  # a link that base="free" let go of stands where it was fixed
        if isinstance(edge.joint, Free) and edge.name not in found.edges:
            start[edge.name] = _coordinates(edge.pose)
    states = {name: joints for name, joints in found.states.items() if name != "start"}
    if start:
        states = {"start": start, **states}
    for name, joints in states.items():
        fits = {joint: q for joint, q in joints.items() if sizes.get(joint) == len(q)}
        for joint in joints.keys() - fits.keys():
            if joint in sizes:
                given = len(joints[joint])
                fact = f"state {name!r} gives it {given} numbers; it has {sizes[joint]}"
                found.notes.leave(found.place, f"joint {joint!r}", fact)
        if fits:
            builder.configuration(name, fits)


def _coordinates(T: SE3) -> tuple[float, ...]:
    """A pose as the q of a free joint."""
    x, y, z = (float(c) for c in T.p.flatten())
    return (x, y, z, *(float(c) for c in T.R.quaternion().flatten()))


class _At:
    """Errors of the builder, with the place in the file."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ModelError):
            raise ModelError(f"{error} ({self.place})") from None


def _fresh(name: str, found: Description) -> str:
    while name in found.edges:
        name += "_"
    return name


def _free_the_base(found: Description, tree: Tree) -> None:
    """Let go of the one link that is fixed to the world; what moves on the world is an error."""
    if found.world is None:
        return
    hung = [edge for edge in tree.order if edge.parent == found.world]
    if len(hung) == 1 and isinstance(hung[0].joint, Free):
        return
    if len(hung) == 1 and hung[0].joint is None:
        edge = hung[0]
        name = _fresh("root_joint", found)
        found.notes.add(edge.place, f"link {edge.child!r}", "is fixed to the world, and freed here")
        freed = Edge(name, edge.place, edge.parent, edge.child, Free(), edge.pose)
        tree.order[tree.order.index(edge)] = freed
        return
    names = ", ".join(repr(edge.name) for edge in hung[:5])
    raise found.place.error(
        f"robot {found.name!r}",
        f"its joints {names} hang on the world, so that its base cannot be free",
        "load it with base='fixed', or remove them",
    )


# -- the tree ----------------------------------------------------------------------------------


def span(found: Description) -> Tree:
    """The tree of a description; cycles, two parents and two roots are errors."""
    parents: dict[str, Edge] = {}
    children: dict[str, list[Edge]] = {}
    for edge in found.edges.values():
        first = parents.setdefault(edge.child, edge)
        if first is not edge:
            raise edge.place.error(
                f"link {edge.child!r}",
                f"has two parents: joint {first.name!r} (line {first.place.line}) and joint "
                f"{edge.name!r}",
                "keep one of the joints and close the loop with loops=",
            )
        children.setdefault(edge.parent, []).append(edge)
    roots = [name for name in found.links if name not in parents]
    if not roots:
        raise _cycle(found, parents, next(iter(found.links)))
    if len(roots) > 1:
        first, second = found.links[roots[0]], found.links[roots[1]]
        names = ", ".join(map(repr, roots[:5])) + (", …" if len(roots) > 5 else "")
        raise second.place.error(
            f"link {second.name!r}",
            f"is not connected to {first.name!r}: {len(roots)} links have no parent ({names})",
            "connect them by joints",
        )
    if found.by_name:  # the order of a map from names, as urdfdom and Pinocchio have it
        for edges in children.values():
            edges.sort(key=lambda edge: edge.name.encode())
    tree = Tree(roots[0])
    stack = list(reversed(children.get(roots[0], [])))
    while stack:
        edge = stack.pop()
        tree.order.append(edge)
        stack.extend(reversed(children.get(edge.child, [])))
    if len(tree.order) < len(parents):
        reached = {edge.child for edge in tree.order}
        raise _cycle(found, parents, next(name for name in parents if name not in reached))
    return tree


def _cycle(found: Description, parents: dict[str, Edge], link: str) -> ModelError:
    """The error that shows a cycle above a link."""
    chain: dict[str, None] = {}
    while link not in chain:
        chain[link] = None
        link = parents[link].parent
    names = list(chain)
    names = [*reversed(names[names.index(link) :])]
    shown = " → ".join([names[-1], *names][:8]) + (" → …" if len(names) > 7 else "")
    edge = parents[link]
    return edge.place.error(
        f"joint {edge.name!r}",
        f"closes a cycle in which every link is its own ancestor: {shown}",
        "remove one joint of the cycle and close the loop with loops=",
    )


def _check_mimics(found: Description) -> None:
    """Every mimic follows another joint that exists and moves in one degree of freedom."""
    for edge in found.edges.values():
        if edge.mimic is None:
            continue
        thing, place = f"joint {edge.name!r}", edge.mimic.place
        leader = found.edges.get(edge.mimic.joint)
        if leader is None:
            fact = f"mimics joint {edge.mimic.joint!r}, which does not exist"
            remedy = "name a joint of the robot, or load with couplings=False"
            raise place.error(thing, fact, remedy)
        if leader is edge:
            raise place.error(thing, "mimics itself", "name another joint")
        if leader.joint is None or leader.joint.nv != 1:
            kind = "fixed" if leader.joint is None else type(leader.joint).__name__
            fact = f"mimics joint {leader.name!r}, which is {kind}"
            raise place.error(thing, fact, "mimic a joint with one degree of freedom")
    done: set[str] = set()
    for start in found.edges.values():
        chain: dict[str, None] = {}
        edge = start
        while edge.mimic is not None and edge.name not in done:
            if edge.name in chain:
                names = " → ".join([*chain, edge.name])
                fact = f"mimics itself through others: {names}"
                raise edge.mimic.place.error(f"joint {edge.name!r}", fact, "let one of them lead")
            chain[edge.name] = None
            edge = found.edges[edge.mimic.joint]
        done |= chain.keys()


# -- what is physical --------------------------------------------------------------------------


def unphysical_links(found: Description, tree: Tree, base: str) -> tuple[list[Note], list[Note]]:
    """What no rigid body has: first what spoils the dynamics, then what does not.

    Judged is what moves: links that are fixed to each other count together, and what is fixed to
    the world does not count.
    """
    owner = {tree.root: tree.root if base == "free" and tree.root != found.world else None}
    total: dict[str, Inertia] = {}
    moving: list[tuple[str, str | None, Edge]] = []
    for edge in tree.order:
        above = owner[edge.parent]
        owner[edge.child] = above if edge.joint is None else edge.child
        if edge.joint is not None:
            moving.append((edge.child, above, edge))
    for link, T in _placements(found, tree):
        own = link.inertia
        if own is not None and (body := owner[link.name]) is not None:
            inertia = own if T is None else T.push(own)
            total[body] = total[body] + inertia if body in total else inertia
    harmful: list[Note] = []
    harmless: list[Note] = []
    for link in found.links.values():
        if link.inertia is None or not link.moments:
            continue
        fact = defect(link.moments, POINT * link.inertia.floats()[0])
        if fact is None:
            continue
        body = owner[link.name]
        spoils = body is not None and body_defect(total[body]) is not None
        (harmful if spoils else harmless).append(Note(link.place, f"link {link.name!r}", fact))
    harmful += _massless(found, tree, base, total, moving)
    return harmful, harmless


def _placements(found: Description, tree: Tree) -> Iterator[tuple[Link, SE3 | None]]:
    """Every link with its pose in the body it belongs to (None: its own frame)."""
    poses: dict[str, SE3 | None] = {tree.root: None}
    yield found.links[tree.root], None
    for edge in tree.order:
        T = None
        if edge.joint is None:
            above = poses[edge.parent]
            T = edge.pose if above is None else above @ edge.pose
        poses[edge.child] = T
        yield found.links[edge.child], T


def _massless(
    found: Description,
    tree: Tree,
    base: str,
    total: dict[str, Inertia],
    moving: list[tuple[str, str | None, Edge]],
) -> Iterator[Note]:
    """Joints that move nothing: the mass matrix is singular."""
    heavy = {body for body, inertia in total.items() if not massless(inertia)}
    carrying = set(heavy)
    for body, above, edge in reversed(moving):
        if any(_numbers(edge.dynamics.get("armature", 0.0))):
            carrying.add(body)
        if body in carrying and above is not None:
            carrying.add(above)
    for body, _, edge in moving:
        if body not in carrying:
            fact = f"joint {edge.name!r} moves it, and neither it nor what it carries has mass"
            yield Note(found.links[body].place, f"link {body!r}", fact)
    if base == "free" and tree.root != found.world and tree.root not in heavy:
        hung = [edge for _, above, edge in moving if above == tree.root]
        if len(hung) < 2:
            fact = "floats, has no mass, and carries " + (
                f"only joint {hung[0].name!r}" if hung else "nothing"
            )
            yield Note(found.links[tree.root].place, f"link {tree.root!r}", fact)


def _numbers(x: object) -> tuple[float, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)  # type: ignore


def _judge(found: Description, tree: Tree, base: str, physical: bool | str) -> None:
    harmful, harmless = unphysical_links(found, tree, base)
    for note in (*harmful, *harmless):
        found.notes.items.append(note)
    if harmful and physical is True:
        first, *others = harmful
        remedy = "correct it, or load the robot as it is with physical=False"
        also = f"; {len(others)} more: " + "; ".join(map(str, others)) if others else ""
        raise ModelError(f"{first.place.error(first.thing, first.fact, remedy)}{also}")
    told = harmful + harmless
    if told:
        head = f"robot {found.name!r} in {found.place.file} has unphysical links"
        if not harmful:
            head += " (they do not move alone, so that the dynamics is sound)"
        text = f"{head}: " + "; ".join(map(str, told))
        warn(text, UnphysicalWarning)
