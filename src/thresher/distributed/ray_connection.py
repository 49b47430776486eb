"""Connecting to a Ray, with errors that say what to do."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from thresher.display import quoted
from thresher.errors import SettingsError
from thresher.version import __version__

#: Seconds to wait for the first answer of an address.
_PATIENCE = 10.0
#: Bytes of the object store of a Ray that is started here, besides the models of a round.
_STORE = 256 << 20
#: Ray reads this when it starts.
_NICENESS = "RAY_worker_niceness"


def connect(ray: Any, cluster: str, workers: int, models: int) -> bool:
    """Connect to a Ray; returns whether it was started here. ``models``: the bytes of the models of a round."""
    if ray.is_initialized():
        return False
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    address = os.environ.get("RAY_ADDRESS", "") if cluster == "ray" else cluster
    if not address:
        try:
            with own_priority():
                ray.init(
                    num_cpus=max(workers, os.cpu_count() or 1),
                    object_store_memory=_STORE + models,
                    include_dashboard=False,
                    **quiet,
                )
            return True
        except ValueError:  # `ray start` was run on this machine
            address = "auto"
        except Exception as error:  # Ray raises nothing more precise if it does not start in time
            why = " ".join(str(error).split())
            raise SettingsError(
                f"Ray does not start on this machine: {why} Try again when it is less busy, or leave out `cluster`"
            ) from error
    _check_reachable(address)
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise SettingsError(_refused(address, error)) from None
    return True


@contextmanager
def own_priority() -> Iterator[None]:
    """Give the workers of a Ray that starts here the priority of this process, unless the environment says otherwise.

    Ray's default is a niceness of 15: beside other programs the fit would wait for its own workers.
    """
    if _NICENESS in os.environ:
        yield
        return
    os.environ[_NICENESS] = "0"
    try:
        yield
    finally:
        del os.environ[_NICENESS]


def _refused(address: str, error: Exception) -> str:
    """The message for a cluster that answers and cannot be used."""
    why = " ".join(str(error).split())
    if "ersion mismatch" in why:
        return (
            f"the Ray cluster {quoted(address)} has another version of Ray or Python than this process: install the "
            f"same versions everywhere. {why}"
        )
    return (
        f"the Ray cluster {quoted(address)} cannot be used: {why}. If it is one that demands a token, set "
        "RAY_AUTH_MODE=token here, too; see `ray get-auth-token --help`"
    )


def check_processors(ray: Any, cluster: str, workers: int, *, reads_by_ray: bool = False) -> None:
    """Raise unless the cluster has a processor for each worker, and one more if tasks of Ray read the data."""
    processors = int(ray.cluster_resources().get("CPU", 0))
    if reads_by_ray and processors == workers:
        raise SettingsError(
            f"tasks of Ray read the dataset, which need a processor besides those of {workers} workers, and the "
            f"cluster {quoted(cluster)} has {processors}: add nodes, pass fewer `workers`, or leave out `cluster`"
        )
    if processors < workers:
        raise SettingsError(
            f"`workers={workers}` need a processor each, and the cluster {quoted(cluster)} has {processors}: pass "
            f"`workers={max(1, processors)}`, or add nodes"
        )


def check_version(there: str) -> None:
    """Raise unless a node has this version of Thresher."""
    if there != __version__:
        raise SettingsError(
            f"this is Thresher {__version__}, and a node of the cluster has {there}: install the same one on all of "
            "them"
        )


def check_importable(error: Exception) -> None:
    """Raise if a worker did not start because its node lacks a package: starting it again would not help."""
    missing = re.search(r"No module named '([^']*)'", str(error))
    if missing:
        raise SettingsError(
            f"a node of the cluster cannot import {missing[1]}: install the same versions of Thresher and of what it "
            "needs on every node, pip install 'thresher[ray]'"
        ) from None


def _check_reachable(address: str) -> None:
    """Raise unless something answers at HOST:PORT: Ray itself waits for minutes."""
    if address in ("auto", "local"):
        return
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise SettingsError(
            f'cluster must be "ray", or an address such as "10.0.0.1:6379" or "ray://10.0.0.1:10001", got {address!r}'
        )
    try:
        with socket.create_connection((parts.hostname, port), _PATIENCE) as there:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                _check_speaks(there)
    except OSError as error:
        raise SettingsError(
            f"no Ray cluster answers at {quoted(address)} ({error}): start Ray there, or check the address"
        ) from None


def _check_speaks(there: socket.socket) -> None:
    """Raise OSError unless HTTP/2 is spoken here, as by Ray: begin a connection, and expect a frame of settings."""
    there.settimeout(_PATIENCE)
    there.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
    header = b""
    while len(header) < 9 and (more := there.recv(9 - len(header))):
        header += more
    if header[3:4] != b"\4":
        raise OSError("something else answers there")
