"""What leads outside, as the service was started with it: handed to whatever works without a request."""

from dataclasses import dataclass, field

import httpx

from providers.local_sequencing import LocalSequencing
from providers.notifications import Notifications
from providers.sequencing import Sequencing


@dataclass(frozen=True, slots=True)
class Ports:
    """The ways out. Work takes from here what it needs, so that tests and settings choose for it."""

    http: httpx.AsyncClient
    notifications: Notifications
    sequencing: Sequencing = field(default_factory=LocalSequencing)
