"""`firestore.indexes.json`, generated from the declared queries (§1.4).

Equalities merge from single-field indexes; an equality together with a range
or an order on another field needs a composite index, which production refuses
to do without.
"""

from __future__ import annotations

import json
from typing import Any

from mos.store.queries import ASC, Query, declared

EXEMPT = (
    ("jobs", "shots"),
    ("tasks", "input"),
    ("tasks", "providerCalls"),
    ("tasks", "render"),
    ("recoveryLog", "changes"),
    ("jobErrorEvents", "message"),
)
"""What no query uses is not indexed: each indexed field costs a write and caps the write rate."""


def composite(query: Query) -> dict[str, Any] | None:
    """The composite index of a query; None where single-field indexes serve."""
    equal = [path for path, operator, _ in query.filters if operator in {"==", "in"}]
    ranged = [path for path, operator, _ in query.filters if operator not in {"==", "in"}]
    ordered = dict(query.order) or dict.fromkeys(ranged, ASC)
    if not equal or not ordered:
        return None
    fields = [{"fieldPath": path, "order": ASC} for path in sorted(set(equal))]
    fields += [{"fieldPath": path, "order": direction} for path, direction in ordered.items()]
    return {"collectionGroup": query.collection, "queryScope": "COLLECTION", "fields": fields}


def render() -> str:
    """The file's text, stable under regeneration."""
    found = [index for index in map(composite, declared()) if index is not None]
    unique = {json.dumps(index, sort_keys=True): index for index in found}
    overrides = [
        {"collectionGroup": collection, "fieldPath": path, "indexes": []} for collection, path in sorted(EXEMPT)
    ]
    ttl = [{"collectionGroup": "recoveryLog", "fieldPath": "expireAt", "ttl": True, "indexes": []}]
    document = {"indexes": [unique[key] for key in sorted(unique)], "fieldOverrides": overrides + ttl}
    return json.dumps(document, indent=2) + "\n"
