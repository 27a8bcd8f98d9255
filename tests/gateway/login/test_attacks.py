"""What somebody tries who should not get in, against two processes over either database."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from contract.login import LOGINS_AT_ADDRESS, LOGINS_OF_ACCOUNT
from tests.gateway.login.conftest import Site
from tests.support.login import PASSWORD, Application, Person, challenge_of, form_on, told_in, words_of


def _refused(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant"), answer.text


def test_a_code_that_comes_again_ends_what_it_gave(site: Site) -> None:
    subject, email = site.member()
    board, ada = Application(), site.person()
    code = ada.code(board, email)
    tokens = ada.redeem(board, code).json()
    assert ada.viewer(tokens["access_token"])["subject"] == subject
    _refused(site.person(elsewhere=True).redeem(board, code))
    assert ada.viewer(tokens["access_token"]) is None
    _refused(ada.refresh(tokens["refresh_token"]))
    # Another application of the same browser goes on.
    assert ada.authorize(board).status_code == 303


def test_a_code_that_comes_at_once_to_two_processes_gives_one_grant_that_ends(site: Site) -> None:
    _, email = site.member()
    board, people = Application(), [site.person(elsewhere=number % 2 == 0) for number in range(8)]
    code = people[0].code(board, email)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda person: person.redeem(board, code), people))
    given = [answer.json()["access_token"] for answer in answers if answer.status_code == 200]
    assert len(given) == 1
    assert {answer.json()["error"] for answer in answers if answer.status_code != 200} == {"invalid_grant"}
    assert people[0].viewer(given[0]) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "x" * 43},
        {"code_verifier": ""},
        {"code_verifier": "short"},
        {"redirect_uri": "http://localhost:5173/"},
        {"redirect_uri": ""},
        {"client_id": "desk"},
        {"client_id": "graphiql"},
    ],
)
def test_a_code_is_bound_to_all_that_it_was_asked_with(site: Site, changes: dict[str, str]) -> None:
    _, email = site.member()
    board, ada = Application(), site.person()
    code = ada.code(board, email)
    _refused(site.person().redeem(board, code, **changes))
    assert ada.redeem(board, code).status_code == 200, "whoever only tries does not use it up"


def test_a_verifier_is_not_its_own_challenge(site: Site) -> None:
    _, email = site.member()
    board, ada = Application(), site.person()
    code = ada.code(board, email)
    _refused(ada.redeem(board, code, code_verifier=challenge_of(board.verifier)))
    _refused(ada.refresh(code))
    assert ada.http.post("/oauth/token", data={"grant_type": "password"}).json()["error"] == "unsupported_grant_type"
    stranger = ada.redeem(board, code, client_id="stranger")
    assert (stranger.status_code, stranger.json()["error"]) == (401, "invalid_client")
    twice = ada.http.post(
        "/oauth/token",
        content="grant_type=refresh_token&client_id=board&client_id=desk&refresh_token=x",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (twice.status_code, twice.json()["error"]) == (400, "invalid_request")
    assert ada.http.post("/oauth/token", json={"grant_type": "refresh_token"}).status_code == 415


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "x" * 44}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"state": None}, "invalid_request"),
        ({"state": ""}, "invalid_request"),
        ({"state": "a\nb"}, "invalid_request"),
        ({"request": "eyJ"}, "request_not_supported"),
        ({"prompt": "consent"}, "invalid_request"),
    ],
)
def test_a_request_that_is_not_in_order_gets_an_error_and_no_page(
    site: Site, changes: dict[str, str | None], error: str
) -> None:
    board = Application()
    answer = site.person().authorize(board, **changes)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("https://board.example/signed-in?")
    told = told_in(answer)
    assert told["error"] == error
    assert "code" not in told
    given = changes.get("state", board.state)
    assert told.get("state") == (given if given == board.state else None)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "https://board.example.evil.example/signed-in?from=crm",
        "https://board.example@evil.example/signed-in?from=crm",
        "https://board.example/signed-in",
        "https://board.example/signed-in?from=crm&more",
        "https://board.example/signed-in/../elsewhere?from=crm",
        "https://board.example/signed-in?from=crm#part",
        "http://board.example/signed-in?from=crm",
        "HTTPS://board.example/signed-in?from=crm",
        "//evil.example",
        "/graphql",
        "javascript:alert(1)",
        "https://desk.example/",
        "http://localhost:5174/",
        "",
    ],
)
@pytest.mark.parametrize("changes", [{}, {"response_type": "token"}, {"state": None}])
def test_nobody_is_sent_to_an_address_that_is_not_registered(
    site: Site, address: str, changes: dict[str, str | None]
) -> None:
    answer = site.person().authorize(Application(), redirect_uri=address, **changes)
    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert "is not registered with the address" in words_of(answer)
    assert not address or address not in answer.text


def test_own_pages_are_sent_to_their_own_addresses_alone(site: Site) -> None:
    _, email = site.member()
    ada = site.person()
    assert ada.sign_in(email).status_code == 303
    base = site.first.address
    for client, address, status in (
        ("graphiql", f"{base}/graphql", 303),
        ("docs", f"{base}/docs", 303),
        ("docs", f"{base}/graphql", 400),
        ("graphiql", f"{base}/login", 400),
        ("graphiql", "http://evil.example/graphql", 400),
        ("graphiql", f"{site.second.address}/graphql", 400),
        ("stranger", f"{base}/graphql", 400),
    ):
        assert ada.authorize(Application(client, address)).status_code == status, (client, address)


def test_parameters_that_come_twice_or_from_the_form_lead_nowhere_else(site: Site) -> None:
    _, email = site.member()
    board, ada = Application(), site.person()
    doubled = [*board.asked().items(), ("redirect_uri", "https://evil.example/")]
    assert ada.http.get("/oauth/authorize", params=doubled).status_code == 400
    page = ada.authorize(board)
    answer = ada.send(page, redirect_uri="https://evil.example/", email=email, password=PASSWORD)
    assert (answer.status_code, "location" in answer.headers) == (400, False)
    marked = ada.authorize(board, state='"><script>alert(1)</script>')
    assert "<script" not in marked.text


def test_forms_of_other_pages_are_not_taken(site: Site) -> None:
    # Decision 894: a stranger's page would sign somebody in as the stranger, or out.
    _, email = site.member()
    ada, stranger = site.person(), site.person()
    login = {"email": email, "password": PASSWORD}
    page = ada.http.get("/login")
    _, kept = form_on(page)
    _, others = form_on(stranger.http.get("/login"))
    own = {"Origin": site.first.address, "Sec-Fetch-Site": "same-origin"}
    for headers, form in (
        (own, login),
        (own, login | others),
        (own, login | {"form": ""}),
        (own, login | {"form": "ä"}),
        ({"Origin": "https://evil.example"}, login | kept),
        ({"Origin": "null"}, login | kept),
        ({"Origin": site.first.address, "Sec-Fetch-Site": "cross-site"}, login | kept),
        ({"Origin": site.first.address, "Sec-Fetch-Site": "same-site"}, login | kept),
    ):
        for path in ("/login", "/oauth/authorize"):
            asked = Application().asked() if path != "/login" else {}
            answer = ada.http.post(path, data=asked | form, headers=headers)
            assert answer.status_code == 403, (headers, form)
            assert not any("crm_session" in cookie for cookie in answer.headers.get_list("set-cookie"))
    with httpx.Client(base_url=site.first.address) as bare:  # the mark of another browser, without its cookie
        assert bare.post("/login", data=login | kept, headers=own).status_code == 403
    assert ada.send(page, **login).status_code == 303
    for headers, form in ((own, {"a": "b"}), (own, others), ({"Origin": "https://evil.example"}, kept)):
        assert ada.http.post("/oauth/logout", data=form, headers=headers).status_code == 403
    assert "Signed in as" in ada.http.get("/login").text
    link = site.link(site.join(), "login")
    _, on_link = form_on(ada.http.get(link))
    assert ada.http.post("/login/link", data=on_link, headers={"Origin": "https://evil.example"}).status_code == 403
    assert ada.http.get(link).status_code == 200


def test_cookies_and_a_session_that_was_planted(site: Site) -> None:
    _, email = site.member()
    _, others = site.member()
    mallory, ada = site.person(), site.person()
    assert mallory.sign_in(others).status_code == 303
    planted = mallory.http.cookies["crm_session"]
    for secret in (planted, "x", "x" * 5000, '"', "%00"):
        ada.http.cookies.clear()
        ada.http.headers["Cookie"] = f"crm_session={secret}"
        page = ada.http.get("/oauth/authorize", params=Application().asked(prompt="login"))
        [made] = [cookie for cookie in page.headers.get_list("set-cookie") if "crm_browser" in cookie]
        browser = made.partition(";")[0]
        ada.http.headers["Cookie"] = f"crm_session={secret}; {browser}"
        answer = ada.send(page, email=email, password=PASSWORD)
        assert answer.status_code == 303, answer.text
        [cookie] = answer.headers.get_list("set-cookie")
        assert re.fullmatch(r"crm_session=[\w-]{43}; HttpOnly; Max-Age=43200; Path=/; SameSite=lax", cookie), cookie
        assert planted not in cookie
    # Over https, as the proxy in front says, nobody else's host can have set them.
    page = site.person().http.get("/login", headers={"X-Forwarded-Proto": "https"})
    [cookie] = page.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-crm_browser=")
    assert cookie.endswith("SameSite=lax; Secure") or "Secure" in cookie


def _until_slowed(ask: Callable[[int], httpx.Response], least: int) -> httpx.Response:
    """Try until an attempt is refused for their number: the `least` are taken, and those that came back meanwhile."""
    for number in range(20 * least):
        answer = ask(number)
        if answer.status_code == 429:
            assert number >= least
            return answer
        assert answer.status_code in (400, 403), answer.text
    raise AssertionError("nothing is slowed down")


def _guess(person: Person, email: str) -> httpx.Response:
    """Guess at one address of e-mail until that is refused."""
    page = person.http.get("/login")
    return _until_slowed(lambda _: person.send(page, email=email, password="a wrong password"), LOGINS_OF_ACCOUNT)


def _counted(person: Person) -> dict[str, float]:
    """How often a password was tried, by outcome, over all processes."""
    found = re.findall(
        r'^crm_logins_total\{outcome="(\w+)",way="password"\} (\S+)$', person.http.get("/metrics").text, re.M
    )
    return {outcome: float(number) for outcome, number in found}


def test_guessing_is_slowed_down_and_locks_nobody_else_out(site: Site) -> None:
    # Decision 893.
    subject, email = site.member()
    mallory = site.person()
    before = _counted(mallory)
    slowed = _guess(mallory, email)
    # Decision 988: the guesses are seen from outside.
    counted = {outcome: number - before.get(outcome, 0.0) for outcome, number in _counted(mallory).items()}
    assert counted["refused"] == LOGINS_OF_ACCOUNT
    assert counted["limited"] == 1
    assert 0 < int(slowed.headers["retry-after"]) <= 60
    # The right one does not get through from there either, and the member signs in from elsewhere.
    assert mallory.sign_in(email).status_code == 429
    assert mallory.sign_in(email.upper()).status_code == 429
    assert site.person().sign_in(email).status_code == 303
    other, unknown = site.person(), site.person()
    _until_slowed(lambda number: other.sign_in(f"nobody{number}@crm.example"), LOGINS_AT_ADDRESS)
    # An address that nobody has is slowed down in the same way, and told the same words.
    said = re.sub("[0-9]+", "N", words_of(_guess(unknown, "nobody@crm.example")))
    assert said == re.sub("[0-9]+", "N", words_of(slowed))
    wrong = [site.person().sign_in(name, "a wrong password") for name in (email, "nobody@crm.example")]
    assert {(answer.status_code, words_of(answer)) for answer in wrong} == {
        (403, "This e-mail address and password do not fit together.")
    }
    link = site.link(subject, "login")
    assert mallory.send(mallory.http.get(link)).status_code == 303, "a link is no guess"


def test_links_and_codes_that_nobody_was_given_are_slowed_down(site: Site) -> None:
    mallory, board = site.person(), Application()
    slowed = _until_slowed(lambda number: mallory.redeem(board, f"guess{number}"), LOGINS_AT_ADDRESS)
    assert slowed.json()["error"] == "temporarily_unavailable"
    assert mallory.http.get("/login/link?token=guess").status_code == 429


def test_a_guess_does_not_wait_for_a_writer(site: Site) -> None:
    scheme, _, path = site.settings["CRM_DATABASE_URL"].partition(":///")
    if not scheme.startswith("sqlite"):
        pytest.skip("only SQLite has one writer at a time")
    mallory = site.person()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        _refused(mallory.redeem(Application(), "guess"))
        _refused(mallory.refresh("guess"))
        assert mallory.http.post("/oauth/revoke", data={"token": "guess"}).status_code == 200
        other.execute("ROLLBACK")


@pytest.mark.parametrize("kind", ["login", "password"])
def test_a_link_is_good_once_and_for_a_while(site: Site, kind: str) -> None:
    subject = site.join()
    short = site.link(subject, kind, "--ttl", "1")
    link = site.link(subject, kind)
    people = [site.person(elsewhere=number % 2 == 0) for number in range(6)]
    path = link.removeprefix(site.first.address)
    pages = [person.http.get(path) for person in people]
    fields = {"password": PASSWORD, "again": PASSWORD} if kind == "password" else {}

    def use(number: int) -> httpx.Response:
        return people[number].send(pages[number], **fields)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(use, range(6)))
    assert sorted(answer.status_code for answer in answers) == [303, *[410] * 5]
    [winner] = [person for person, answer in zip(people, answers, strict=True) if answer.status_code == 303]
    assert "Signed in as" in winner.http.get("/login").text
    late, end = site.person(), time.monotonic() + 60
    while (answer := late.http.get(short)).status_code == 200 and time.monotonic() < end:
        time.sleep(0.2)
    assert answer.status_code == 410
    assert words_of(answer) == words_of(site.person().http.get("/login/link?token=never"))
    # A link of one kind is none of the other.
    other = site.link(subject, "password" if kind == "login" else "login")
    ada = site.person()
    token = other.rpartition("=")[2]
    _, kept = form_on(ada.http.get("/login"))
    wrong = {"form": kept["form"], "token": token} | ({} if kind == "password" else {"password": "short"})
    origin = {"Origin": site.first.address}
    answer = ada.http.post("/login/link", data=wrong, headers=origin)
    assert answer.status_code == (303 if kind == "password" else 422)


def test_a_new_password_ends_what_was_signed_in_before(site: Site) -> None:
    subject, email = site.member()
    board, thief = Application(), site.person()
    tokens = thief.redeem(board, thief.code(board, email)).json()
    waiting = site.link(subject, "login")
    assert (
        site.person(elsewhere=True)
        .set_password(site.link(subject).replace(site.first.address, site.second.address), PASSWORD + "!")
        .status_code
        == 303
    )
    assert thief.viewer(tokens["access_token"]) is None
    _refused(thief.refresh(tokens["refresh_token"]))
    assert thief.authorize(board).status_code == 200
    assert thief.http.get(waiting).status_code == 410
    assert site.person().sign_in(email).status_code == 403
    assert site.person().sign_in(email, PASSWORD + "!").status_code == 303


def test_of_members_with_one_address_each_signs_in_with_the_own_password(site: Site) -> None:
    # Decision 896: whoever adds members cannot take over, or lock out, the address of another one.
    subject, email = site.member("the password of the first")
    squatter, posing = site.join(email=email.upper()), site.join(user=f"{email}.x")
    assert f"who signs in with {email}" in site.person().http.get(site.link(subject)).text
    for each, password in ((squatter, "the password of the second"), (posing, "the password of the third")):
        assert site.person().set_password(site.link(each), password).status_code == 303
    for password, who in (("first", subject), ("second", squatter)):
        ada, board = site.person(), Application()
        tokens = ada.redeem(board, ada.code(board, email, f"the password of the {password}")).json()
        assert ada.viewer(tokens["access_token"])["subject"] == who
    assert site.person().sign_in(email, "the password of the third").status_code == 403


def test_what_is_no_name_is_no_error(site: Site) -> None:
    ada = site.person()
    page = ada.http.get("/login")
    for email in ("a\0b", "x" * 100_000, "' OR 1=1 --", "\ud7ff", "%00", "a@b\r\nc"):
        answer = ada.send(page, email=email, password="p" * 12)
        assert answer.status_code in (403, 413), (email, answer.status_code)
    assert ada.send(page, email="", password="p" * 100_000).status_code == 413
    assert ada.send(page, email="a@b.example", password="p" * 15_000).status_code == 403
