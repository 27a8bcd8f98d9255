"""The secrets that webhooks are signed with: worked out from the pepper, so that none lies in the database."""

import base64
import hmac


def webhook_secret(pepper: bytes, org_id: str, webhook_id: str) -> str:
    """The webhook's secret as Standard Webhooks writes it: `whsec_` and 256 bits in base64 (decision 68)."""
    key = hmac.digest(pepper, f"webhook:{org_id}:{webhook_id}".encode(), "sha256")
    return f"whsec_{base64.b64encode(key).decode()}"
