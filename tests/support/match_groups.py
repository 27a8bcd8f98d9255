"""What is to be counted of match keys: worked out of the records by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from storage.tables import Account, Contact, MatchGroup
from tests.support.tenants import Tenant


def keys_of_contact(mail: str | None, phone: str | None, account: str | None, *names: str | None) -> Iterator[str]:
    name = " ".join(filter(None, names))
    there = {"a": mail, "c": phone, "d": account and name and f"{account} {name}", "e": name}
    return (sign + text for sign, text in there.items() if text)


async def counted_anew(tenant: Tenant) -> None:
    """Counted is what two of the records or more have now."""
    names = Contact.match_first_name, Contact.match_last_name
    people = await tenant.rows(Contact.folded_email, Contact.match_phone, Contact.account_id, *names)
    firms = await tenant.rows(Account.domain, Account.match_name)
    keys = Counter(("contact", key) for person in people for key in keys_of_contact(*person))
    keys.update(("account", f"b{domain}") for domain, _ in firms if domain and "." in domain)
    keys.update(("account", f"e{name}") for _, name in firms if name)
    columns = MatchGroup.kind, MatchGroup.key, MatchGroup.sign, MatchGroup.size
    counted = {(kind, key): (sign, size) for kind, key, sign, size in await tenant.rows(*columns)}
    assert counted == {key: (key[1][0], number) for key, number in keys.items() if number > 1}
