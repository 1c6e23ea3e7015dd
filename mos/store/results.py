"""`processedAssets/{digest}`: the durable pointer to a result, by the content of its input (§2.1 rule 5).

Written before the completion commit, so that a lost commit never repeats paid
work. What a task takes in from upstream is read in the same call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore
from google.cloud.firestore_v1.base_document import DocumentSnapshot

from mos.domain.errors import PipelineStateError, StateStoreError, UnknownOutcome
from mos.domain.model import Task

COLLECTION = "processedAssets"
TIMEOUT = 10.0
"""Seconds for each call."""


@dataclass(frozen=True)
class Prepared:
    """What is known before work: the recorded result for this input, and what the dependencies put out."""

    recorded: str | None
    inputs: dict[str, str]


def prepare(client: firestore.Client, task: Task) -> Prepared:
    """Both in one call. Whether the recorded object still exists is for the caller to see.

    Raises:
        StateStoreError: the store could not be asked.
        PipelineStateError: a dependency has no output.
    """
    tasks = [client.collection("tasks").document(name) for name in task.depends_on]
    pointer = [client.collection(COLLECTION).document(task.input_digest)] if task.input_digest else []
    if not tasks and not pointer:
        return Prepared(None, {})
    try:
        found = {snapshot.reference.path: snapshot for snapshot in client.get_all([*tasks, *pointer], timeout=TIMEOUT)}
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"the inputs of {task.id} could not be read: {error}") from error
    inputs = {reference.id: _key(found[reference.path]) for reference in tasks}
    missing = [name for name, key in inputs.items() if key is None]
    if missing:
        raise PipelineStateError(f"task {missing[0]}, which {task.id} depends on, has no output", code="no_input")
    recorded = _key(found[pointer[0].path]) if pointer else None
    return Prepared(recorded, {name: key for name, key in inputs.items() if key is not None})


def record(client: firestore.Client, digest: str, output_key: str, step_type: str) -> str:
    """Create the pointer if it is absent. The key that stands afterwards, which may be somebody else's.

    Raises:
        UnknownOutcome: it may have been written and could not be read back.
    """
    reference = client.collection(COLLECTION).document(digest)
    fields = {"outputKey": output_key, "stepType": step_type, "createdAt": firestore.SERVER_TIMESTAMP}
    try:
        reference.create(fields, timeout=TIMEOUT)
    except (google.GoogleAPICallError, google.RetryError) as error:
        stands = _read_back(reference, error)
        if stands is None:
            raise StateStoreError(f"the result could not be recorded: {error}") from error
        return stands
    return output_key


def replace(client: firestore.Client, digest: str, output_key: str, step_type: str) -> None:
    """Point at `output_key` where the recorded object no longer exists.

    Raises:
        UnknownOutcome: it may have been written; doing it again is harmless.
    """
    fields = {"outputKey": output_key, "stepType": step_type, "createdAt": firestore.SERVER_TIMESTAMP}
    try:
        client.collection(COLLECTION).document(digest).set(fields, timeout=TIMEOUT)
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise UnknownOutcome(f"a result may or may not have been recorded: {error}") from error


def _read_back(reference: firestore.DocumentReference, error: Exception) -> str | None:
    try:
        return _key(reference.get(timeout=TIMEOUT))
    except (google.GoogleAPICallError, google.RetryError) as unread:
        raise UnknownOutcome(f"a result may or may not have been recorded: {error}") from unread


def _key(snapshot: DocumentSnapshot[Any]) -> str | None:
    key = (snapshot.to_dict() or {}).get("outputKey")
    return key if isinstance(key, str) and key else None
