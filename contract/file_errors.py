"""Refusals of files and of uploads in parts."""

from contract.errors import GatewayError


class QuotaExceeded(GatewayError):
    """The files of the organization would take up more than they may."""

    status = 413
    code = "QUOTA_EXCEEDED"

    def __init__(self, quota: int) -> None:
        super().__init__(f"The organization's files would take up more than the {quota} bytes that they may")


class TusVersion(GatewayError):
    """The request speaks another version of the tus protocol, or names none."""

    status = 412
    code = "PRECONDITION_FAILED"
    message = "Uploads speak version 1.0.0 of the tus protocol: send Tus-Resumable: 1.0.0"


class ChecksumMismatch(GatewayError):
    """A part of an upload is not what its checksum says; the status is that of the tus protocol."""

    status = 460
    code = "CHECKSUM_MISMATCH"
    message = "The part does not match its checksum"


class UploadHeld(GatewayError):
    """Another request sends a part of the same upload."""

    status = 423
    code = "LOCKED"
    message = "Another request is sending a part of this upload"
    retry_after = 1
