"""Judges an occurrence: taken, or why not, in a sentence. No I/O, so that it can be tried by the hundred thousand."""

from dataclasses import dataclass
from datetime import datetime

from contract.integrations import (
    IntegrationItemDecision,
    IntegrationSkipReason,
    ParticipantResponse,
)
from jobs.sync.identity import address_key, domain_key, is_within
from providers.accounts.ports import Said

Reason = IntegrationSkipReason


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for a connection: its owner's addresses, the organization's domains, the days that are followed."""

    own: frozenset[str]
    internal: frozenset[str]
    take_internal: bool
    window_from: datetime
    window_until: datetime
    is_linked: bool = False
    """Whether a member has said what the connection's streams are about, so that who takes part decides nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reason why an occurrence is left out, in a word and a sentence; no reason for one that is taken.

    `is_gone` where it does not take place: there is nothing to list.
    """

    reason: Reason | None = None
    explanation: str | None = None
    is_gone: bool = False


TAKEN = Verdict()
_WORDS = {
    Reason.REMOVED_HERE: "A member deleted the meeting here, or left the item out.",
    Reason.PRIVATE: "It is marked private or confidential: nothing but its times is kept.",
    Reason.NOT_A_MEETING: "The calendar says that it is no meeting: an absence, focus time, a birthday, a place.",
    Reason.DECLINED: "The owner of the connection declined.",
    Reason.NO_EXTERNAL_ATTENDEE: "Nobody but the owner of the connection takes part.",
    Reason.DUPLICATE: "It came by another connection already, and is one meeting.",
    Reason.TOO_MANY: "The series has too many occurrences, or repeats more often than daily.",
    Reason.UNREADABLE: "It cannot be understood.",
}


def skipped(reason: Reason, explanation: str | None = None) -> Verdict:
    """The verdict with the usual words of the reason, unless given."""
    return Verdict(reason, explanation or _WORDS[reason])


def judged(
    said: Said,
    starts_at: datetime | None,
    rules: Rules,
    *,
    problem: str | None = None,
    note: str | None = None,
    decision: str | None = None,
    is_removed: bool = False,
    was_taken: bool = False,
) -> Verdict:
    """The verdict on one occurrence: the first rule that applies decides.

    `is_removed` where a member deleted the meeting here, `was_taken` where there is a meeting of it by now: one that
    has become old stays.
    """
    if problem == "unreadable":
        return skipped(Reason.UNREADABLE, None if said.is_private else note)
    if decision == IntegrationItemDecision.IGNORE:
        return skipped(Reason.REMOVED_HERE)
    if decision == IntegrationItemDecision.TAKE:
        return Verdict(is_gone=True) if said.is_cancelled else TAKEN
    if is_removed:
        return skipped(Reason.REMOVED_HERE)
    if said.is_private:
        return skipped(Reason.PRIVATE)
    if said.is_cancelled:
        return Verdict(is_gone=True)
    if problem == "too_many":
        return skipped(Reason.TOO_MANY, note)
    if not said.is_meeting:
        return skipped(Reason.NOT_A_MEETING)
    if said.declined or any(_declined(guest.email, guest.response, rules) for guest in said.guests):
        return skipped(Reason.DECLINED)
    if starts_at is not None and (outside := _outside(starts_at, rules, was_taken=was_taken)):
        return skipped(Reason.OUTSIDE_WINDOW, outside)
    return _of_guests(said, rules, note)


def _declined(email: str, response: ParticipantResponse, rules: Rules) -> bool:
    return response is ParticipantResponse.DECLINED and address_key(email) in rules.own


def _outside(starts_at: datetime, rules: Rules, *, was_taken: bool) -> str | None:
    if starts_at < rules.window_from and not was_taken:
        return f"It starts before {rules.window_from:%Y-%m-%d}, the first day that is followed."
    if starts_at > rules.window_until:
        last = f"{rules.window_until:%Y-%m-%d}"
        return f"It starts after {last}, the last day that is followed; it is taken once it is near."
    return None


def _of_guests(said: Said, rules: Rules, note: str | None) -> Verdict:
    if rules.is_linked:
        return Verdict(explanation=note)
    others = [guest.email for guest in said.guests if address_key(guest.email) not in rules.own]
    if not others:
        return skipped(Reason.NO_EXTERNAL_ATTENDEE)
    domains = {domain_key(email) for email in others}
    if not rules.take_internal and all(is_within(domain, rules.internal) for domain in domains):
        named = ", ".join(sorted(domains)[:3])
        words = f"Everybody who takes part has an address of an internal domain: {named}."
        return skipped(Reason.INTERNAL_DOMAIN, words)
    return Verdict(explanation=note)
