"""Manifests for Kubernetes: valid, parts that find each other, and commands that run (here as
processes, for want of a cluster).
"""

from __future__ import annotations

import importlib.resources
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mozzi as mz

yaml = pytest.importorskip("yaml")
DOCS = Path(__file__).parents[2] / "docs"
PARTS = list(yaml.safe_load_all((DOCS / "howto" / "kubernetes.yaml").read_text()))
ADDRESS = "tcp://mozzi-scheduler:8786"


def part(kind: str, name: str):
    (found,) = [x for x in PARTS if (x["kind"], x["metadata"]["name"]) == (kind, name)]
    return found


def pods():
    return [x["spec"]["template"] for x in PARTS if "template" in x["spec"]]


def commands() -> dict[str, list[str]]:
    return {c["name"]: c["command"] for pod in pods() for c in pod["spec"]["containers"]}


def test_parts_find_each_other():
    """Labels of pods are what is selected, addresses and volumes are those that are there."""
    service = part("Service", "mozzi-scheduler")["spec"]
    chosen = [p for p in pods() if service["selector"].items() <= p["metadata"]["labels"].items()]
    (scheduler,) = chosen
    port = service["ports"][0]
    ports = scheduler["spec"]["containers"][0]["ports"]
    assert [x["containerPort"] for x in ports] == [port["targetPort"]]
    assert f"tcp://mozzi-scheduler:{port['port']}" == ADDRESS
    assert str(port["targetPort"]) in commands()["scheduler"]
    assert ADDRESS in commands()["worker"] and ADDRESS in commands()["sweep"]
    for x in PARTS:
        if x["kind"] == "Deployment":
            labels = x["spec"]["template"]["metadata"]["labels"]
            assert x["spec"]["selector"]["matchLabels"] == labels
    for pod in pods():
        names = {v["name"] for v in pod["spec"].get("volumes", [])}
        for volume in pod["spec"].get("volumes", []):
            part("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
        for container in pod["spec"]["containers"]:
            assert {m["name"] for m in container.get("volumeMounts", [])} == names


@pytest.mark.slow
def test_manifests_are_what_the_api_takes():
    """The schemas of Kubernetes, in which nothing unknown is allowed."""
    validate = pytest.importorskip("kubernetes_validate")
    for x in PARTS:
        validate.validate(x, validate.latest_version(), strict=True)
    wrong = json.loads(json.dumps(part("Deployment", "mozzi-workers")))
    wrong["spec"]["replica"] = 3
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, validate.latest_version(), strict=True)


@pytest.mark.slow
def test_a_cluster_of_the_operator():
    """What `KubeCluster` of the how-to asks for, beside the operator's own definition."""
    operator = pytest.importorskip("dask_kubernetes.operator")
    jsonschema = pytest.importorskip("jsonschema")
    chart = "operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"
    definition = yaml.safe_load((importlib.resources.files("dask_kubernetes") / chart).read_text())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = operator.make_cluster_spec(
        name="mozzi", image="your/image-with-mozzi", n_workers=100,
        worker_command=["dask", "worker", "--nthreads", "1"],
    )  # fmt: skip
    jsonschema.validate(without_nothing(spec), schema)
    command = spec["spec"]["worker"]["spec"]["containers"][0]["args"]
    assert command[:4] == ["dask", "worker", "--nthreads", "1"]
    assert spec["spec"]["worker"]["replicas"] == 100


def without_nothing(x):
    if isinstance(x, dict):
        return {k: without_nothing(y) for k, y in x.items() if y is not None}
    return [without_nothing(y) for y in x] if isinstance(x, list) else x


@pytest.mark.slow
def test_their_commands_run(tmp_path):
    """Scheduler, two workers and the job, each with the command of its container."""
    pytest.importorskip("distributed")
    zarr = pytest.importorskip("zarr")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shutil.copy(DOCS / "coming_from" / "robot.urdf", tmp_path / "robot.urdf")
    source = str(Path(mz.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "30s"}

    def start(name: str) -> subprocess.Popen[bytes]:
        words = [
            x.replace(ADDRESS, f"tcp://127.0.0.1:{port}").replace("/shared", str(tmp_path))
            for x in commands()[name]
        ]
        own = {"8786": str(port), "0.0.0.0": "127.0.0.1", "1e6": "3e3"}
        words = [sys.executable, "-m", *(own.get(x, x) for x in words)]
        log = (tmp_path / f"{name}.log").open("ab")
        return subprocess.Popen(words, env=env, cwd=tmp_path, stdout=log, stderr=log)

    parts = [start("scheduler"), start("worker"), start("worker")]
    try:
        time.sleep(3.0)
        assert start("sweep").wait(120) == 0, (tmp_path / "sweep.log").read_text()
    finally:
        for x in reversed(parts):
            x.kill()
            x.wait(10)
    group = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")
    assert np.isfinite(group["q.mean"][...]).all() and group["q.max"].shape == (2,)
    assert (tmp_path / "out.html").exists()
