"""Whom and what a meeting is about: contact, account and deal of those who take part. No I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contract.integrations import FREE_MAIL
from jobs.sync.identity import address_key, domain_key, is_within
from providers.accounts.ports import Guest

_ROBOTS = re.compile(r"(?:no-?reply|do-?not-?reply|mailer-daemon|postmaster|notifications?|calendar-notification)\b")


@dataclass(frozen=True, slots=True)
class Known:
    """The records that the addresses of a page lead to.

    `contacts` has contact and account by address, `accounts` the one account by domain, `deals` the open deals of an
    account, each with its contacts.
    """

    contacts: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    accounts: Mapping[str, str] = field(default_factory=dict)
    deals: Mapping[str, Sequence[tuple[str, frozenset[str]]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """The links of a meeting; `candidates` are the deals that fit equally well, where no single one does."""

    contact_id: str | None = None
    account_id: str | None = None
    deal_id: str | None = None
    candidates: tuple[str, ...] = ()


def external(guests: Sequence[Guest], own: frozenset[str], internal: frozenset[str]) -> list[str]:
    """The addresses from outside, the organizer's first, then in the event's order."""
    ordered = sorted(guests, key=lambda guest: not guest.is_organizer)
    keys = dict.fromkeys(address_key(guest.email) for guest in ordered)
    return [key for key in keys if key not in own and not is_within(domain_key(key), internal)]


def matched(addresses: Sequence[str], known: Known) -> Match:
    """The match of a meeting with these people from outside."""
    people = [known.contacts[each] for each in addresses if each in known.contacts]
    contact_id, account_id = people[0] if people else (None, None)
    if account_id is None:
        domains = (domain_key(each) for each in addresses)
        account_id = next((known.accounts[d] for d in domains if d in known.accounts and d not in FREE_MAIL), None)
    if account_id is None:
        return Match(contact_id)
    deals = known.deals.get(account_id, ())
    met = {each for each, _ in people}
    with_them = [deal_id for deal_id, contacts in deals if contacts & met]
    if len(with_them) == 1:
        return Match(contact_id, account_id, with_them[0])
    if len(deals) == 1:
        return Match(contact_id, account_id, deals[0][0])
    return Match(contact_id, account_id, None, tuple(with_them or [deal_id for deal_id, _ in deals]))


def linked(match: Match, about: tuple[str | None, str | None] | None) -> Match:
    """The match where a member has said which account and deal it is about."""
    return match if about is None else Match(match.contact_id, *about)


def is_person(guest: Guest) -> bool:
    """Says whether a contact may be made of who takes part: neither a robot's address nor a list's."""
    return _ROBOTS.match(guest.email.partition("@")[0].lower()) is None


def names_of(guest: Guest) -> tuple[str | None, str | None]:
    """The given and the family name, as far as the invitation has them: «Ada Park», or «Park, Ada»."""
    name = " ".join((guest.name or "").split())
    if not name or "@" in name:
        return None, None
    family, comma, given = name.partition(", ")
    if comma:
        return given or None, family or None
    given, _, family = name.rpartition(" ")
    return (given, family) if given else (family, None)
