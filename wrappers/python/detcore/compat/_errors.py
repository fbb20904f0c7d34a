"""The exceptions of `determined.errors` and `determined.common.api.errors`, which are those of
detcore."""

from detcore import InvalidHP
from detcore.compat import missing
from detcore.errors import (
    AccessError,
    Error,
    HTTPError,
    NotFoundError,
    UnavailableError,
)
from detcore.trial import InvalidDataTypeException, InvalidExperimentException

APIException = Error
BadRequestException = HTTPError
ForbiddenException = AccessError
MasterNotFoundException = UnavailableError
NotFoundException = NotFoundError
UnauthenticatedException = AccessError

__all__ = [
    "APIException",
    "BadRequestException",
    "ForbiddenException",
    "InvalidDataTypeException",
    "InvalidExperimentException",
    "InvalidHP",
    "MasterNotFoundException",
    "NotFoundException",
    "UnauthenticatedException",
]

__getattr__ = missing("determined.errors", __all__)
