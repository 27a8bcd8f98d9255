"""Microsoft Graph, asked for one account.

Its pages name the next one by its whole address, which is asked with the account's token: it is followed to where the
first page was asked alone (decision 922).
"""

from urllib.parse import urlsplit

from contract.integrations import PASS_PAGES_MAX, IntegrationProblemCode
from providers.accounts.asking import Asker
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.consents import Access
from providers.accounts.ports import AccountError, Told

PAGE = 100
_WANTED = (f"odata.maxpagesize={PAGE}", 'outlook.timezone="UTC"', 'IdType="ImmutableId"')
PREFERRED = {"Prefer": ", ".join((*_WANTED, 'outlook.body-content-type="text"'))}
"""How answers are to be: an item keeps its identifier when it is moved to another folder."""
_CODE = IntegrationProblemCode
_FORGOTTEN = frozenset({"syncstatenotfound", "syncstateinvalid", "resyncrequired"})


class Graph:
    """Asks Microsoft Graph for one account, and follows its links to where it was asked alone."""

    def __init__(self, api: AccountApi, url: str, access: Access) -> None:
        self._asker = Asker(api, access, PREFERRED)
        self._url = urlsplit(url)

    async def get(self, url: str, told: Told, params: dict[str, str] | None = None) -> Json:
        """The answer's object. Raises AccountError, Refused among them."""
        return await self._asker.get(url, told, params)

    def leads_here(self, link: str) -> bool:
        """Says whether the link is of the interface that was asked: it is given the account's token (decision 922)."""
        try:
            parts = urlsplit(link)
            is_same = (parts.scheme, parts.netloc) == (self._url.scheme, self._url.netloc)
        except ValueError:
            return False
        folders = parts.path.lower().replace("%2e", ".").split("/")
        return is_same and parts.path.startswith(f"{self._url.path}/") and ".." not in folders and link.isprintable()

    def following(self, answer: Json, been: set[str]) -> str | None:
        """The next page's address; None behind the last one. Raises AccountError for one that is not followed."""
        link = answer.get("@odata.nextLink")
        if not isinstance(link, str) or not link:
            return None
        self.check(link)
        if link in been or len(been) >= PASS_PAGES_MAX:
            raise AccountError(_CODE.PROVIDER_ANSWER, "Microsoft's pages come again; they are read again.")
        been.add(link)
        return link

    def check(self, link: str) -> None:
        """Raise AccountError for a link to somewhere else."""
        if not self.leads_here(link):
            raise AccountError(_CODE.PROVIDER_ANSWER, "Microsoft's answer leads to another place; it is not followed.")

    def end_of(self, answer: Json) -> str:
        """The address of what changes from here on. Raises AccountError."""
        link = answer.get("@odata.deltaLink")
        if not isinstance(link, str) or not link:
            raise AccountError(_CODE.PROVIDER_ANSWER, "Microsoft's answer has no end; it is read again.")
        self.check(link)
        return link


def is_forgotten(error: Refused) -> bool:
    """Says whether the interface does not know any more where the changes go on from."""
    return error.status == 410 or any(each.lower() in _FORGOTTEN for each in error.reasons)
