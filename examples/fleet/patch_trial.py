"""Tries `patches.py` on a cluster of two nodes on this machine, with an object store of its own.

    python patch_trial.py [--steps N]

A worker on each node follows the steps of a trainer. One of them is killed, one misses steps, and one patch is damaged in the store.
The identity of each file must be that of the trainer's tensors after each step that its worker follows.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import boto3
import ml_dtypes
import numpy as np
import patches
import ray
import ray.exceptions
import zten.numpy
from moto.server import ThreadedMotoServer
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}

PATIENCE = 120
"""The time limit in seconds for steps that take a few seconds."""


class Trainer:
    """A trainer that changes some elements of its tensors in each step."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)
        normal = [self.random.standard_normal((512, 256), np.float32) for _ in range(8)]
        self.tensors: dict[str, Any] = {f"layers.{at}": own.astype(ml_dtypes.bfloat16) for at, own in enumerate(normal)}

    def step(self) -> None:
        for tensor in self.tensors.values():
            bits = tensor.reshape(-1).view(np.uint16)
            bits += (self.random.random(len(bits)) < 0.01).astype(np.uint16)


class Trial:
    """A trial: a trainer, two workers, and the patches that have been published so far."""

    def __init__(self, folder: Path, nodes: list[str]) -> None:
        self.store = boto3.client("s3")
        self.store.create_bucket(Bucket="models")
        self.trainer = Trainer()
        base = str(folder / "base.safetensors")
        zten.numpy.save_file(self.trainer.tensors, base)
        self.publisher = patches.Publisher("models", "run", self.trainer.tensors)
        self.published: list[patches.Published] = []
        self.workers = []
        for at, node in enumerate(nodes):
            # All workers of this trial share a disk, so each gets a path of its own. On real machines each worker has
            # its own disk.
            path = str(folder / f"worker-{at}.safetensors")
            options = {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}
            self.workers.append(patches.RemoteWorker.options(**options).remote(base, path))

    def publish(self) -> None:
        self.trainer.step()
        self.published.append(self.publisher.publish(len(self.published) + 1, self.trainer.tensors))

    def require(self, *workers: Any) -> None:
        """Has each of the workers apply the patches, and checks that the identities of their
        files are that of the trainer's tensors."""
        found = [ray.get(worker.follow.remote(self.published), timeout=PATIENCE) for worker in workers]
        wanted = self.published[-1].result
        if found != [wanted] * len(workers):
            raise AssertionError(f"step {len(self.published)}: found {found}, and not {wanted}")

    def kill(self, worker: Any) -> None:
        """Kills the process of a worker, and waits for the process that Ray starts in its place."""
        process = ray.get(worker.__ray_call__.remote(lambda _: os.getpid()))
        os.kill(process, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if ray.get(worker.__ray_call__.remote(lambda _: os.getpid())) != process:
                    return
            except ray.exceptions.RayActorError:
                time.sleep(0.1)
        raise AssertionError("no process took the place of the killed one")

    def damage(self) -> None:
        """Flips a bit of the last patch in the store, and checks that no worker applies it and no
        file changes. Then puts the right patch back."""
        key = self.published[-1].url.partition("models/")[2]
        whole = self.store.get_object(Bucket="models", Key=key)["Body"].read()
        damaged = bytearray(whole)
        damaged[4096] ^= 1
        self.store.put_object(Bucket="models", Key=key, Body=bytes(damaged))
        for worker in self.workers:
            try:
                ray.get(worker.follow.remote(self.published), timeout=PATIENCE)
            except ray.exceptions.RayTaskError as error:
                if "(rule " not in str(error):
                    raise
            else:
                raise AssertionError("a damaged patch was applied")
            if ray.get(worker.identity.remote()) != self.published[-1].base:
                raise AssertionError("a damaged patch has changed a file")
        self.store.put_object(Bucket="models", Key=key, Body=whole)


def run(folder: Path, nodes: list[str], steps: int) -> None:
    trial = Trial(folder, nodes)
    one, other = trial.workers
    for _ in range(steps):
        trial.publish()
        trial.require(one, other)
    print(f"{steps} steps: both files have the tensors of the trainer", flush=True)
    for _ in range(3):
        trial.publish()
        trial.require(one)
    trial.require(other)
    print("3 steps in one pass: the same", flush=True)
    trial.publish()
    other.follow.remote(trial.published)
    trial.kill(other)
    trial.require(one, other)
    print("a worker was killed: the same after it was started again", flush=True)
    trial.publish()
    trial.damage()
    trial.require(one, other)
    stored = trial.store.head_object(Bucket="models", Key=trial.published[-1].url.partition("models/")[2])
    whole = sum(tensor.nbytes for tensor in trial.trainer.tensors.values())
    print(f"a damaged patch: rejected. A patch has {stored['ContentLength']} bytes, the model {whole}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    steps = parser.parse_args().steps
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # Without this setting, the server of the store prints each request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "trial", "AWS_SECRET_ACCESS_KEY": "trial",
        "AWS_DEFAULT_REGION": "us-east-1",
        # With this path, the actors can import `patches.py`.
        "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    os.environ.update(environment)
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    cluster.add_node(**NODE)
    ray.init(
        address=cluster.address, log_to_driver=False, logging_level=logging.ERROR, runtime_env={"env_vars": environment}
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            nodes = [str(node["NodeID"]) for node in ray.nodes()]
            if len(nodes) != 2:
                raise AssertionError(f"the cluster has {len(nodes)} nodes")
            run(Path(folder), nodes, steps)
    finally:
        ray.shutdown()
        cluster.shutdown()
        server.stop()


if __name__ == "__main__":
    main()
