"""A model of SQS for tests and the simulator: boto3's signatures, a virtual clock, scripted misbehaviour.

`SqsModel(now=…, event=…)` keeps everything in memory and is deterministic: ids
are counted, nothing is random, and the faults are declared as data. One
contract suite holds it and moto to the same behaviour.
"""

from mos.local.aws.sqs_model.faults import Call, Fault, Faults, Kind, Operation
from mos.local.aws.sqs_model.model import Peek, SqsModel

__all__ = ["Call", "Fault", "Faults", "Kind", "Operation", "Peek", "SqsModel"]
