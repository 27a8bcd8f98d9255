"""Refusals of a request for its form, before an operation is asked: method, media types, size, origin, host."""

from contract.errors import GatewayError
from contract.limits import BODY_MAX_BYTES


class MethodNotAllowed(GatewayError):
    """The method cannot carry the operation."""

    status = 405
    code = "METHOD_NOT_ALLOWED"


class NotAcceptable(GatewayError):
    """The client takes none of the media types that there are."""

    status = 406
    code = "NOT_ACCEPTABLE"


class TooSlow(GatewayError):
    """The request did not come in time."""

    status = 408
    code = "REQUEST_TIMEOUT"
    message = "The request did not arrive in time"


class TooLarge(GatewayError):
    """The body, or a file, is over its limit."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"
    message = "The body is larger than 1 MiB"


class BodyTooLarge(TooLarge):
    """The body is over so many bytes."""

    def __init__(self, most: int = BODY_MAX_BYTES) -> None:
        super().__init__(f"The body is larger than {most // 2**20} MiB")


class AddressTooLong(GatewayError):
    """The request's address is over the limit."""

    status = 414
    code = "URI_TOO_LONG"
    message = "The address is longer than 16 KiB"


class UnsupportedMedia(GatewayError):
    """The body's content type is not one that the operation takes."""

    status = 415
    code = "UNSUPPORTED_MEDIA_TYPE"


class RangeNotSatisfiable(GatewayError):
    """The part of a file that is asked for begins behind its end."""

    status = 416
    code = "RANGE_NOT_SATISFIABLE"
    message = "Range not satisfiable"

    def __init__(self, size: int = 0) -> None:
        super().__init__()
        self.size = size


class ForbiddenOrigin(GatewayError):
    """A page of an origin that the settings do not name has sent the request."""

    status = 403
    code = "FORBIDDEN_ORIGIN"
    message = "Pages of this origin may not call; the operator can name it in CRM_CORS_ORIGINS"


class Misdirected(GatewayError):
    """The request was sent to a name that is none of the service's (decision 161)."""

    status = 421
    code = "MISDIRECTED_REQUEST"
    message = "The service is not known under the name in Host"


class HeadersTooLarge(GatewayError):
    """The request's headers are over the limit, in bytes or in number."""

    status = 431
    code = "HEADERS_TOO_LARGE"
    message = "The headers are larger than 32 KiB, or more than 100"
