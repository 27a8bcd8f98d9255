"""What leads outside, as the service was started with it: handed to whatever works without a request."""

from dataclasses import dataclass

import httpx

from providers.artifacts import Artifacts
from providers.notifications import Notifications


@dataclass(frozen=True, slots=True)
class Ports:
    """The ways out. Work takes from here what it needs, so that tests and settings choose for it."""

    http: httpx.AsyncClient
    notifications: Notifications
    artifacts: Artifacts
