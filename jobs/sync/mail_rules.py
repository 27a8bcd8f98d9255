"""Decides what becomes of an e-mail, and what is shown of it. No I/O."""

from collections.abc import Collection, Sequence
from hashlib import sha256

from contract.integrations import IntegrationProvider, IntegrationSkipReason, SyncVisibility
from contract.vocabulary import ActivitySource
from jobs.sync.identity import address_key
from jobs.sync.judge import Rules
from jobs.sync.match import external
from providers.accounts.ports import Guest, Mail
from storage.base import JsonDict
from storage.tables import Activity

Reason = IntegrationSkipReason
MAIL_SOURCES = {
    IntegrationProvider.GOOGLE: ActivitySource.GMAIL,
    IntegrationProvider.MICROSOFT: ActivitySource.OUTLOOK,
}
"""What e-mails say of where they came from."""
CONTENT = ("subject", "from_address", "to_addresses", "cc_addresses", "message_id", "thread_id")
"""The columns of an e-mail that its headers fill."""
WORDS = {
    Reason.PRIVATE: "It is marked private or confidential: nothing but its time is kept.",
    Reason.NO_EXTERNAL_ATTENDEE: "Nobody but the owner of the connection is in it.",
    Reason.INTERNAL_DOMAIN: "Everybody who is in it has an address of an internal domain.",
    Reason.NO_CONTACT: "No address of it is a contact's: nothing but its time is kept.",
    Reason.DUPLICATE: "It is there already: it came by another connection, or was logged by hand.",
}
"""Why an e-mail is left out, in a sentence."""


def key_of(mail: Mail, stream_id: str) -> str:
    """The key of a message in all mailboxes (decision 927): of its Message-ID, or of what this one calls it."""
    named = mail.message_id or f"{stream_id}:{mail.external_id}"
    return sha256(named.encode()).hexdigest()


def addresses_of(mail: Mail) -> list[str]:
    """Everybody who is in it, the sender first."""
    return [*([] if mail.sender is None else [mail.sender]), *mail.to, *mail.copies]


def judged(mail: Mail, rules: Rules, contacts: Collection[str]) -> Reason | None:
    """Why the message is left out; None where it is taken. The first rule that applies decides."""
    if mail.is_private:
        return Reason.PRIVATE
    addresses = addresses_of(mail)
    outside = external([Guest(each) for each in addresses], rules.own, rules.internal)
    if not outside:
        is_own = all(address_key(each) in rules.own for each in addresses)
        return Reason.NO_EXTERNAL_ATTENDEE if is_own else Reason.INTERNAL_DOMAIN
    return None if any(each in contacts for each in outside) else Reason.NO_CONTACT


def shown(mail: Mail, visibility: SyncVisibility, contacts: Collection[str]) -> JsonDict:
    """The columns of a message that others may see: with less than everything the contacts alone, or nobody."""
    if visibility is SyncVisibility.NOTHING:
        return dict.fromkeys(CONTENT) | {"to_addresses": [], "cc_addresses": []}

    def seen(addresses: Sequence[str]) -> list[str]:
        if visibility is SyncVisibility.EVERYTHING:
            return list(addresses)
        return [each for each in addresses if address_key(each) in contacts]

    return {
        "subject": mail.subject,
        "from_address": next(iter(seen([mail.sender] if mail.sender else [])), None),
        "to_addresses": seen(mail.to),
        "cc_addresses": seen(mail.copies),
        "message_id": mail.message_id,
        "thread_id": mail.thread_id,
    }


def links_of(activity: Activity) -> list[str | None]:
    """Says what a member may change of a message: while it is as it was, nobody has worked on it."""
    return [activity.account_id, activity.deal_id, activity.contact_id, activity.lead_id, activity.owner_id]
