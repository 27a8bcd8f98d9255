"""Serves POST /pat/exchange (specification 5.7; RFC 8693; decision 28)."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from pydantic import StrictStr

from contract.costs import LEAST
from identity.authenticate import bearer
from resolvers.shared.inputs import Input, parse
from rest_compat.credentials import NOT_STORED
from rest_compat.operations import RestOperation, RestRequest, RestResponse

ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


class ExchangeForm(Input):
    """The form of RFC 8693; what else it may hold there is ignored."""

    grant_type: Literal["urn:ietf:params:oauth:grant-type:token-exchange"]
    subject_token: StrictStr
    subject_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"]
    requested_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"] | None = None


async def exchange(call: RestRequest) -> RestResponse:
    """Exchanges the credential for an access token: the form's, where there is a form, else the bearer's.

    As everywhere the credential is judged before the body: a form with a bad token is a 401, whatever else is wrong
    with it. Raises Unauthenticated, OrganizationHeader, OrganizationMismatch, RateLimited, or Problems for the form.
    """
    form = call.form
    if form is not None and "subject_token" not in form:
        parse(ExchangeForm, form)
    credential = bearer(call.headers.get("authorization")) if form is None else form["subject_token"]
    granted = await call.ctx.services.identity.exchange(
        credential, call.headers.get("x-service-org"), call.address, partial(call.meter.charge, points=LEAST)
    )
    if form is not None:
        parse(ExchangeForm, form)
    return RestResponse(
        {
            "access_token": granted.access_token,
            "issued_token_type": ACCESS_TOKEN,
            "token_type": "Bearer",
            "expires_in": granted.expires_in,
            "scope": granted.scope,
            "organization_id": granted.organization_id,
        },
        NOT_STORED,
    )


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/pat/exchange",
        exchange,
        "Exchange a key or token for a short-lived access token",
        form=ExchangeForm,
        answer="AccessToken",
        description="The credential is the bearer token, or the subject_token of an RFC 8693 form, which wins where "
        "both are given. A session token cannot be exchanged. A user token may name an organization.",
        response_headers=("Cache-Control",),
        errors=(400, 401, 403, 413, 422),
    ),
)
