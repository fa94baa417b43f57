"""Sends a model that is trained to the workers of a Ray cluster, as patches in an object store.

The trainer publishes what changed since the last step, and each worker applies it to a file of its own. Only the names of patches and
digests go through Ray. A worker that was killed or has missed steps finds the step of its file by the identity of its tensors, and
applies all later patches in one pass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import ray
import zten
import zten.patch


@dataclass(frozen=True)
class Published:
    """A patch in the object store: its URL, and the identities of the tensors before and after it."""

    url: str
    """The name of the patch: ``s3://bucket/key``."""
    base: str
    """The identity of the tensors that the patch was made of."""
    result: str
    """The identity of the tensors of the step."""


class Publisher:
    """Publishes the steps of a trainer.

    Args:
        bucket, folder: where the patches are put.
        tensors: the arrays or tensors of the step that all workers have. The publisher keeps a copy of them, since a trainer changes
            its tensors in place.
    """

    def __init__(self, bucket: str, folder: str, tensors: Mapping[str, Any]) -> None:
        self.bucket, self.folder = bucket, folder
        self.store = boto3.client("s3")
        self.sent = {name: _copy(value) for name, value in tensors.items()}

    def publish(self, step: int, tensors: Mapping[str, Any]) -> Published:
        """Makes the patch from the last published step to ``tensors``, and puts it into the store."""
        key = f"{self.folder}/{step:08}.zt"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "patch.zt"
            made = zten.patch.make(self.sent, tensors, path)
            # If the upload fails, the copy is still that of the last published step, and the call can be repeated.
            self.store.upload_file(str(path), self.bucket, key)
            # This checks the patch as a worker does. If it raises, no worker is told of the patch.
            zten.patch.update(self.sent, path)
        return Published(f"s3://{self.bucket}/{key}", made.base, made.result)


def _copy(value: Any) -> Any:
    return value.detach().to("cpu", copy=True) if hasattr(value, "detach") else value.copy()


class Worker:
    """Follows the steps of a trainer in a file of its own.

    Args:
        base: the file of the first step, which is copied if the worker has none yet.
        path: the file of this worker, on the disk of its node.
    """

    def __init__(self, base: str, path: str) -> None:
        self.path = Path(path)
        if not self.path.exists():
            zten.convert(base, self.path)

    def follow(self, patches: Sequence[Published]) -> str:
        """Applies those of ``patches`` that the file lacks, and returns the identity of its tensors.

        A patch that is damaged or missing raises, and so does a file that is none of the steps; the file stays as it was.
        If this process or its machine is killed meanwhile, the file is that of the old step or that of the last.
        """
        own = self.identity()
        if patches and own != patches[-1].result:
            bases = [patch.base for patch in patches]
            if own not in bases:
                raise ValueError(f"the file has the identity {own}, which is the base of none of the patches")
            missing = patches[bases.index(own) :]
            # zten reads the patches from the store, with the credentials of the environment.
            zten.patch.apply(self.path, [patch.url for patch in missing], self.path)
        return self.identity()

    def identity(self) -> str:
        """Returns the identity of the tensors in the file."""
        with zten.open(self.path) as file:
            return file.identity()


RemoteWorker: Any = ray.remote(num_cpus=1, max_restarts=-1)(Worker)
"""A worker as an actor of Ray, which is started again after it was killed."""
