"""What one write makes of one document: precondition, mask, content, transforms. Pure but for the time handed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from mos.local.firestore import fields as field_paths
from mos.local.firestore import names, transforms, values
from mos.local.firestore.clock import from_stamp, stamp
from mos.local.firestore.encoding import name_key
from mos.local.firestore.errors import already_exists, failed_precondition, invalid, not_found
from mos.local.firestore.messages import Document


class Doc:
    """One version of a document: `data` is the serialized `Document`, exactly as the wire carries it."""

    __slots__ = ("created", "data", "key", "name", "updated")

    def __init__(self, *, name: str, key: bytes, data: bytes, created: int, updated: int) -> None:
        self.name = name
        self.key = key
        self.data = data
        self.created = created
        self.updated = updated

    def parsed(self) -> Any:
        """The document as a protobuf message of its own."""
        return Document.FromString(self.data)


class Mutation(NamedTuple):
    """A write, checked: its target and what it does there."""

    name: str
    write: Any
    deletes: bool


class Outcome(NamedTuple):
    """The document after a write (None = absent) and the write's transform results."""

    doc: Doc | None
    results: list[Any]


def check(write: Any) -> Mutation:
    """Everything about a write that can be refused without looking at the database.

    Raises:
        Refused: INVALID_ARGUMENT.
    """
    operation = write.WhichOneof("operation")
    match operation:
        case "update":
            name = write.update.name
            values.check_fields(write.update.fields)
            _check_mask(write)
        case "delete":
            name = write.delete
        case "transform":
            name = write.transform.document
        case _:
            raise invalid("A write has no operation.")
    names.document(name)
    _check_transforms(write, operation)
    return Mutation(name, write, operation == "delete")


def _check_mask(write: Any) -> None:
    if not write.HasField("update_mask"):
        return
    for path in write.update_mask.field_paths:
        field_paths.check_writable(field_paths.parse(path))


def _check_transforms(write: Any, operation: str) -> None:
    steps = transforms_of(write)
    transforms.check(steps)
    if operation == "delete" and steps:
        raise invalid("A delete cannot carry field transforms.")
    if operation == "transform" and not steps:
        raise invalid("A transform must name at least one field.")


def transforms_of(write: Any) -> Any:
    """The field transforms of a write, wherever it carries them."""
    return write.transform.field_transforms if write.HasField("transform") else write.update_transforms


def check_together(mutations: Iterable[Mutation]) -> None:
    """Refuse writes of one commit that cannot follow each other on the same document (Firestore collapses them).

    Raises:
        Refused: INVALID_ARGUMENT.
    """
    earlier: dict[str, tuple[str, int | None]] = {}
    steps: Counter[str] = Counter()
    for mutation in mutations:
        steps[mutation.name] += len(transforms_of(mutation.write))
        if steps[mutation.name] > transforms.MAX_TRANSFORMS:
            raise invalid(f"A commit cannot apply more than {transforms.MAX_TRANSFORMS} transforms to one document.")
        kind, version = _kind(mutation), _version_of(mutation.write)
        if mutation.name in earlier:
            _check_pair(earlier[mutation.name], kind, version, mutation)
            version = version or earlier[mutation.name][1]
        earlier[mutation.name] = (kind, version)


def _check_pair(before: tuple[str, int | None], kind: str, version: int | None, mutation: Mutation) -> None:
    previous, known = before
    deleted = previous == "delete"
    condition = mutation.write.current_document
    absent = condition.WhichOneof("condition_type") == "exists" and not condition.exists
    present = condition.WhichOneof("condition_type") == "exists" and condition.exists
    if version is not None and version != known and not (deleted and kind == "update"):
        raise invalid("Cannot collapse mutations with different version preconditions.")
    if (absent and not deleted) or (deleted and (kind == "update" or present)):
        raise invalid(f"Cannot {previous} then {kind} an entity in the same request.")


def _kind(mutation: Mutation) -> str:
    condition = mutation.write.current_document
    match condition.WhichOneof("condition_type"):
        case _ if mutation.deletes:
            return "delete"
        case "exists":
            return "update" if condition.exists else "insert"
        case "update_time":
            return "update"
        case _:
            return "upsert"


def _version_of(write: Any) -> int | None:
    condition = write.current_document
    return from_stamp(condition.update_time) if condition.HasField("update_time") else None


def apply(mutation: Mutation, before: Doc | None, base: Doc | None, now: int) -> Outcome:
    """The document after the write, at commit time `now` in microseconds.

    `before` has the earlier writes of the same commit in it; update times are compared with `base`, which has not.

    Raises:
        Refused: the precondition does not hold, or the result breaks a limit.
    """
    _check_precondition(mutation, before, base, now)
    if mutation.deletes:
        return Outcome(None, [])
    document = _content(mutation, before)
    results = [transforms.apply(document, step, now) for step in transforms_of(mutation.write)]
    return Outcome(_version(mutation.name, document, before, now), results)


def _check_precondition(mutation: Mutation, before: Doc | None, base: Doc | None, now: int) -> None:
    condition = mutation.write.current_document
    match condition.WhichOneof("condition_type"):
        case "exists" if condition.exists and before is None:
            raise not_found(f"No document to update: {mutation.name}")
        case "exists" if not condition.exists and before is not None:
            raise already_exists(mutation.name)
        case "update_time":
            _check_update_time(mutation.name, from_stamp(condition.update_time), base, now)


def _check_update_time(name: str, expected: int, before: Doc | None, now: int) -> None:
    if expected > now:
        raise invalid("The update time of a precondition lies in the future.")
    if before is None:
        raise failed_precondition(f"The document does not exist and cannot match the update time: {name}")
    if before.updated != expected:
        raise failed_precondition(
            f"The stored version ({before.updated}) does not match the required base version ({expected})."
        )


def _content(mutation: Mutation, before: Doc | None) -> Any:
    write = mutation.write
    if write.HasField("transform"):
        return before.parsed() if before else Document(name=mutation.name)
    if not write.HasField("update_mask"):
        document = Document(name=mutation.name)
        document.fields.MergeFrom(write.update.fields)
        return document
    document = before.parsed() if before else Document(name=mutation.name)
    for text in write.update_mask.field_paths:
        path = field_paths.parse(text)
        value = field_paths.get(write.update.fields, path)
        if value is None:
            field_paths.drop(document.fields, path)
        else:
            field_paths.put(document.fields, path, value)
    return document


def _version(name: str, document: Any, before: Doc | None, now: int) -> Doc:
    if before is not None and _unchanged(document, before):
        return before
    created = before.created if before else now
    document.create_time.CopyFrom(stamp(created))
    document.update_time.CopyFrom(stamp(now))
    data = document.SerializeToString(deterministic=True)
    values.check_size(document, len(data))
    key = before.key if before else name_key(name)
    return Doc(name=name, key=key, data=data, created=created, updated=now)


def _unchanged(document: Any, before: Doc) -> bool:
    document.create_time.CopyFrom(stamp(before.created))
    document.update_time.CopyFrom(stamp(before.updated))
    same: bool = document.SerializeToString(deterministic=True) == before.data
    return same
