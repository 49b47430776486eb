"""The recipes under examples/cluster: their syntax, and options that the command line has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import typer.main

from thresher.cli.main import make_app

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"


def check_options(command: str) -> None:
    known = {
        option
        for parameter in typer.main.get_command(make_app()).commands["select"].params  # type: ignore[attr-defined]
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    used = re.findall(r"(?<!\S)--?[a-z][a-z-]*", command)
    assert {"--workers", "--cluster"} <= set(used) <= known


def test_the_slurm_recipe_is_a_script() -> None:
    path = FOLDER / "slurm.sh"
    subprocess.run(["bash", "-n", path], check=True)
    check_options(path.read_text().split("\nthresher select")[1])


def test_the_kuberay_recipe_is_a_ray_job() -> None:
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    check_options(job["spec"]["entrypoint"])
    cluster = job["spec"]["rayClusterSpec"]
    (group,) = cluster["workerGroupSpecs"]
    processors = group["replicas"] * int(group["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])
    assert f"--workers {processors} " in job["spec"]["entrypoint"]
    for template in (cluster["headGroupSpec"]["template"], group["template"]):
        assert {volume["name"] for volume in template["spec"]["volumes"]} == {"rows"}
