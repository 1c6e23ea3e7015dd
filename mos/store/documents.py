"""Between Firestore's documents and the domain's values."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

import pydantic
from google.cloud.firestore_v1 import DELETE_FIELD
from google.cloud.firestore_v1.base_document import DocumentSnapshot

from mos.domain.errors import ValidationError
from mos.domain.model import Document, Job, Task, WorkerRecord

COLLECTION: dict[type[Document], str] = {Task: "tasks", Job: "jobs", WorkerRecord: "workers"}
LOG = "recoveryLog"
LOG_KEPT = timedelta(days=90)

D = TypeVar("D", bound=Document)


class UnreadableRecord(ValidationError):
    """A document that does not validate. It is reported with its path, never guessed at (§1.4)."""

    default_code = "unreadable_record"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} cannot be read: {problem}", details={"field": path, "problem": problem})
        self.path = path
        self.problem = problem


def path_of(document: Document) -> str:
    """Where a document stands."""
    return f"{COLLECTION[type(document)]}/{document.id}"


def read(kind: type[D], snapshot: DocumentSnapshot[Any]) -> D | None:
    """The document in a snapshot; None where there is none.

    Raises:
        UnreadableRecord: it does not validate.
    """
    if not snapshot.exists:
        return None
    try:
        return kind.model_validate({**(snapshot.to_dict() or {}), "id": snapshot.id})
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        path = snapshot.reference.path
        raise UnreadableRecord(path, f"{place}: {first['msg']}") from error


def encode(value: Any) -> Any:
    """Plain values for the client: enums as their text, tuples as lists."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return value


def difference(before: Document, after: Document) -> dict[str, Any]:
    """What an update must write: changed fields only, so that fields we do not know stay untouched."""
    old, new = before.fields(), after.fields()
    changed = {name: encode(value) for name, value in new.items() if name not in old or old[name] != value}
    return changed | {name: DELETE_FIELD for name in old if name not in new}
