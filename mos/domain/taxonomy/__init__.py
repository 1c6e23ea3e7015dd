"""The failure taxonomy: why production failed, and whether automation may try again (specification §3.5)."""

from mos.domain.taxonomy.causes import Classification
from mos.domain.taxonomy.decide import classify_production_failure
from mos.domain.taxonomy.own import classify_error

__all__ = ["Classification", "classify_error", "classify_production_failure"]
