"""The demo's files, folders, reports and import, made by what makes anybody's."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import resolvers.later  # noqa: F401  # registers the work of imports
from contract.bulk_vocabulary import ImportKind, MergeableKind
from contract.criteria import ListQuery, Order, PageWindow
from contract.scopes import Role
from contract.vocabulary import CredentialKind, ReportKind, SortDirection
from gateway.demo.chats import write_chat
from gateway.made import embedded_issuer, store_of
from gateway.settings import Settings
from identity.authenticate import Identity
from identity.keyfiles import pepper
from identity.principal import Organization, Principal
from jobs.attempts import Attempt, Claim
from providers import wire
from providers.notifications import WorkflowActors, embedded
from providers.outbound import Outbound
from providers.ports import Ports
from resolvers.accounts import list_accounts
from resolvers.analytics_runs import AnalyticsAsk, ask
from resolvers.contacts import ContactCreate, create_contact
from resolvers.deals import list_deals
from resolvers.files import FileCreate, create_file
from resolvers.folders import FolderCreate, create_folder
from resolvers.import_forms import DataImportInput
from resolvers.imports import create_import
from resolvers.merge_fields import MergeInput
from resolvers.merging import merge_records
from resolvers.receiving import receive_file
from resolvers.report_inputs import ReportCreate, ReportParameters
from resolvers.report_runs import ReportRunAsked, run_report
from resolvers.reports import create_report
from resolvers.saved_queries import SavedQueryCreate, create_saved_query
from resolvers.shared.context import Context, Services
from storage.base import new_id, now
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.queries import jobs
from storage.seeding import Demo

_OFFER = """Offer

12 licences for a year, with onboarding in March.
Valid until the end of the quarter; the terms are those of the frame agreement.
"""
_PRICES = "product,price,currency\r\nLicence for a year,1200.00,EUR\r\nOnboarding,800.00,EUR\r\n"
_VISITORS = """Key;First name;Last name;E-mail;Title;Tags
fair-1;Nora;Lind;nora.lind@harbor.example;Head of Purchasing;fair
fair-2;Jonas;Weber;jonas.weber@north.example;Owner;fair
fair-3;Nora;Lind;nora.lind@harbor.example;Purchasing;fair
fair-4;Mina;Sato;mina.sato@lighthouse.example;;fair
fair-5;Otto;Blank;no address;;fair
fair-1;Nora;Lind;nora@harbor.example;;fair
fair-6;Pia;Roth;pia.roth@harbor.example;Buyer;fair;too many
"""
_PATIENCE_SECONDS = 10.0
_COLUMNS = (("Key", "external_key"), ("First name", "first_name"), ("Last name", "last_name"), ("E-mail", "email"))


async def write_documents(settings: Settings, database: Database, demo: Demo) -> None:
    """Files in folders and on records, reports, and an import that refused rows and left a group of duplicates."""
    async with wire.AsyncClient() as http:
        notifications = WorkflowActors(embedded, lambda *_: None)
        outbound = Outbound()
        ports = Ports(http, notifications, outbound, store_of(settings), files_quota=settings.files_quota_bytes)
        services = Services(
            database,
            Identity(database, embedded_issuer(settings), pepper(settings.data_dir)),
            notifications,
            ports.artifacts,
            ChangeFeed(database, None),
        )
        organization = Organization(demo.organization, demo.organization, "Demo Sales")
        scopes = frozenset(Role.MEMBER.scopes)
        member = Principal(demo.member, CredentialKind.SESSION, scopes, organization, (organization,))
        ctx = Context(services, member, new_id())
        visitors = await _write_files(ctx)
        await _write_reports(ctx)
        await _import(ctx, ports, visitors)
        administrator = replace(member, subject=demo.admin, scopes=frozenset(Role.ADMIN.scopes))
        await _ask(Context(services, administrator, new_id()))


async def _write_files(ctx: Context) -> str:
    """The identifier of the file that is to be imported."""
    first = ListQuery(order=Order("name", SortDirection.ASC), page=PageWindow(first=1))
    [account] = (await list_accounts(ctx, first)).rows
    [deal] = (await list_deals(ctx, first)).rows
    sales = await create_folder(ctx, FolderCreate(name="Sales"))
    offers = await create_folder(ctx, FolderCreate(name="Offers", parent_id=sales.id))
    fairs = await create_folder(ctx, FolderCreate(name="Fairs"))
    await _write(ctx, "Offer.txt", "text/plain", _OFFER, offers.id, [deal.id, account.id])
    await _write(ctx, "Prices.csv", "text/csv", _PRICES, sales.id, [])
    return await _write(ctx, "Visitors.csv", "text/csv", _VISITORS, fairs.id, [])


async def _write(ctx: Context, name: str, kind: str, text: str, folder: str, records: list[str]) -> str:
    async def pieces() -> AsyncIterator[bytes]:
        yield text.encode()

    stored = await receive_file(ctx, pieces(), kind)
    described = FileCreate(
        name=name,
        bytes=stored.bytes,
        content_type=stored.content_type,
        found_sha256=stored.sha256,
        folder_id=folder,
        attach_to=records,
    )
    return (await create_file(ctx, described, stored)).id


async def _write_reports(ctx: Context) -> None:
    parameters = ReportParameters(time_zone="Europe/Berlin")
    reports = [
        await create_report(ctx, ReportCreate(name=name, kind=kind, parameters=parameters))
        for name, kind in (
            ("Pipeline by stage", ReportKind.PIPELINE_BY_STAGE),
            ("Won and lost", ReportKind.WON_LOST_BY_MONTH),
        )
    ]
    await run_report(ctx, reports[-1].id, ReportRunAsked())


async def _ask(ctx: Context) -> None:
    """Does what an administrator has done: a question answered and kept, a thread begun, two contacts made one."""
    asked = "How many deals are open?"
    await ask(ctx, AnalyticsAsk(question=asked))
    await ctx.services.runs.stop(_PATIENCE_SECONDS)
    await create_saved_query(ctx, SavedQueryCreate(name="Open deals", question=asked))
    await write_chat(ctx)
    named = {"first_name": "Robin", "last_name": "Falk"}
    into, other = [
        (await create_contact(ctx, ContactCreate.model_validate({**named, "email": email}))).id
        for email in ("robin.falk@harbor.example", "robin@falk.example")
    ]
    await merge_records(ctx, MergeInput(kind=MergeableKind.CONTACT, into=into, from_=[other]))


async def _import(ctx: Context, ports: Ports, file_id: str) -> None:
    mapping = [{"column": column, "field": field} for column, field in _COLUMNS]
    told = {"file_id": file_id, "kind": ImportKind.CONTACT, "mapping": mapping, "delimiter": ";"}
    made = await create_import(ctx, DataImportInput.model_validate(told))
    holder = new_id()
    async with ctx.writing() as session:
        queued = await jobs.place(session, made.job_id)
        if queued is None:
            return  # a worker had it
        await session.update(queued, holder=holder, due_at=now() + timedelta(minutes=1))
    await Attempt(ctx.services.database, ports, Claim(ctx.org_id, made.job_id, holder)).make()
