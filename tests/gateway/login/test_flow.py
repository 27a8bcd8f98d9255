"""Signing in from end to end, over HTTP, with two processes over either database (decision 890)."""

from __future__ import annotations

from base64 import urlsafe_b64decode

import httpx
import orjson
import pytest

from contract.scopes import Role
from tests.gateway.login.conftest import Site
from tests.support.login import PASSWORD, Application, Person, form_on, told_in, words_of
from tests.support.service import Service


def _claims(token: str) -> dict[str, object]:
    body = token.split(".")[1]
    claims: dict[str, object] = orjson.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return claims


def test_from_the_invitation_to_an_answer(site: Site) -> None:
    subject = site.join()
    link = site.link(subject)
    assert link.startswith(f"{site.first.address}/login/link?token=")
    ada, email = site.person(), f"{subject}@crm.example"
    page = ada.http.get(link)
    assert ada.http.get(link).status_code == 200, "looking at a link does not use it"
    assert subject.title() in page.text
    assert email in page.text
    answer = ada.send(page, password=PASSWORD, again=PASSWORD)
    assert answer.headers["location"] == "../login"
    assert f"Signed in as <b>{subject.title()}</b>" in ada.http.get("/login").text
    assert ada.http.get(link).status_code == 410

    board = Application()
    bob = site.person()
    login = bob.authorize(board)
    assert login.status_code == 200
    assert "form-action 'self' https://board.example;" in login.headers["content-security-policy"]
    answer = bob.send(login, email=email.upper(), password=PASSWORD)
    assert told_in(answer)["iss"] == "urn:crm-gateway"
    assert told_in(answer)["from"] == "crm"
    # The other process redeems what the first one gave.
    application = site.person(elsewhere=True)
    given = application.redeem(board, board.code_in(answer))
    assert given.status_code == 200, given.text
    assert given.headers["cache-control"] == "no-store"
    tokens = given.json()
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3600)
    assert set(tokens["scope"].split()) == Role.MEMBER.scopes
    viewer = application.viewer(tokens["access_token"])
    assert (viewer["subject"], viewer["email"], viewer["organization"]) == (subject, email, {"id": "acme"})
    printed = _claims(site.run("token", "--user", subject, "--org", "acme").out.strip())
    claims = _claims(tokens["access_token"])
    assert claims.keys() == printed.keys()
    assert {name for name in claims if claims[name] != printed[name]} <= {"iat", "nbf", "exp", "jti", "client_id"}
    assert claims["client_id"] == "board"


def test_refresh_tokens_rotate_and_end_with_the_session(site: Site) -> None:
    _, email = site.member()
    board, ada = Application(), site.person()
    first = ada.redeem(board, ada.code(board, email)).json()
    second = site.person(elsewhere=True).refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert ada.refresh(second["refresh_token"], "desk").json()["error"] == "invalid_grant"
    third = ada.refresh(second["refresh_token"]).json()
    assert ada.viewer(first["access_token"]) == ada.viewer(third["access_token"]) != None  # noqa: E711  # all three
    # Used twice, it ends all that the login gave, in every process (decision 891).
    again = ada.refresh(first["refresh_token"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert ada.refresh(third["refresh_token"]).json()["error"] == "invalid_grant"
    for token in (first, second, third):
        assert site.person(elsewhere=True).viewer(token["access_token"]) is None


def test_who_is_signed_in_is_not_asked_again_until_signing_out(site: Site) -> None:
    subject, email = site.member()
    board, own, ada = Application(), None, site.person()
    own = Application("graphiql", f"{site.first.address}/graphql")
    tokens = ada.redeem(board, ada.code(board, email)).json()
    silent = ada.redeem(own, own.code_in(ada.authorize(own))).json()
    assert "refresh_token" not in silent, "the service's own pages keep none (decision 895)"
    assert ada.authorize(own, prompt="login").status_code == 200
    assert ada.viewer(silent["access_token"])["subject"] == subject
    page = ada.http.get("/oauth/logout")
    assert ada.send(page).status_code == 200
    for token in (tokens, silent):
        assert ada.viewer(token["access_token"]) is None
    assert ada.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert ada.authorize(own).status_code == 200, "the page is shown again"
    refused = ada.authorize(board, prompt="none")
    assert told_in(refused)["error"] == "login_required"


def test_a_login_takes_the_place_of_the_one_before_it_in_the_browser(site: Site) -> None:
    _, email = site.member()
    board, ada = Application(), site.person()
    first = ada.redeem(board, ada.code(board, email)).json()
    former = ada.http.cookies["crm_session"]
    second = ada.redeem(board, board.code_in(_again(ada, board, email))).json()
    for token in (first, second):
        assert ada.viewer(token["access_token"]) is not None, "whoever signs in again keeps what was given"
    elsewhere = site.person()
    elsewhere.http.cookies["crm_session"] = former
    assert told_in(elsewhere.authorize(board, prompt="none"))["error"] == "login_required"
    assert ada.send(ada.http.get("/oauth/logout")).status_code == 200
    for token in (first, second):  # decision 1090
        assert ada.viewer(token["access_token"]) is None
        assert ada.refresh(token["refresh_token"]).json()["error"] == "invalid_grant"

    hers = ada.redeem(board, ada.code(board, email)).json()
    _, another = site.member()
    his = ada.redeem(board, board.code_in(_again(ada, board, another))).json()
    assert ada.viewer(his["access_token"]) is not None
    assert ada.viewer(hers["access_token"]) is None, "somebody else has signed in in this browser"


def _again(person: Person, application: Application, email: str) -> httpx.Response:
    """Sign in in a browser in which somebody is signed in."""
    return person.send(person.authorize(application, prompt="login"), email=email, password=PASSWORD)


def test_a_member_of_several_organizations_chooses_with_each_call(site: Site) -> None:
    subject, email = site.member()
    site.join("beta", user=subject, email=email, role="viewer")
    board, ada = Application(), site.person()
    token = ada.redeem(board, ada.code(board, email)).json()["access_token"]
    assert "org_id" not in _claims(token)
    assert [each["id"] for each in ada.viewer(token)["organizations"]] == ["acme", "beta"]
    assert set(ada.viewer(token, "beta")["scopes"]) == Role.VIEWER.scopes
    assert set(ada.viewer(token, "acme")["scopes"]) == Role.MEMBER.scopes
    # Suspended in one, the member goes on in the other.
    site.run("member", "remove", "--org", "acme", "--user", subject)
    assert [each["id"] for each in ada.viewer(token)["organizations"]] == ["beta"]


@pytest.mark.parametrize("ending", ["suspend", "remove", "deactivate"])
def test_who_is_suspended_or_removed_is_out_at_once(site: Site, ending: str) -> None:
    subject, email = site.member()
    board, desk, ada = Application(), Application("desk", "https://desk.example/"), site.person()
    tokens = ada.redeem(board, ada.code(board, email)).json()
    code = desk.code_in(ada.authorize(desk))
    unused = site.link(subject, "login")
    if ending == "deactivate":
        admin = site.join(role="admin")
        token = site.run("token", "--user", admin, "--org", "acme").out.strip()
        query = f'mutation {{ memberDeactivate(id: "{subject}") {{ userErrors {{ message }} }} }}'
        done = ada.http.post("/graphql", json={"query": query}, headers={"Authorization": f"Bearer {token}"})
        assert done.json()["data"]["memberDeactivate"]["userErrors"] == [], done.text
    elif ending == "remove":
        site.run("member", "remove", "--org", "acme", "--user", subject)
    else:
        other = site.join()  # suspends everybody, who are brought back below
        site.run("member", "suspend", "--org", "acme", "--before", "2999-01-01T00:00:00Z")
        site.run("member", "resume", "--org", "acme", "--user", other)

    def is_out() -> None:
        assert ada.viewer(tokens["access_token"]) is None
        assert ada.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
        assert ada.redeem(desk, code).json()["error"] == "invalid_grant"
        assert ada.authorize(board).status_code == 200, "the page, and no code"
        assert ada.http.get(unused).status_code == 410

    is_out()
    refused = site.person().sign_in(email)
    assert (refused.status_code, words_of(refused)) == (403, "This e-mail address and password do not fit together.")
    if ending == "remove":
        site.join(user=subject, email=email)
    else:
        site.run("member", "resume", "--org", "acme", "--user", subject)
    is_out()  # what ended stays so
    assert site.person().sign_in(email).status_code == 303


def test_what_is_known_of_the_provider(site: Site) -> None:
    http = site.person().http
    document = http.get("/.well-known/oauth-authorization-server").json()
    assert document == http.get("/.well-known/openid-configuration").json()
    assert document["code_challenge_methods_supported"] == ["S256"]
    for name in ("authorization", "token", "revocation", "end_session"):
        assert http.get(document[f"{name}_endpoint"]).status_code in (200, 400, 405)
    # The exchange of keys is a grant type of the same endpoint.
    subject = site.join()
    token = site.run("token", "--user", subject, "--org", "acme").out.strip()
    made = http.post("/user-pats", json={"name": "N"}, headers={"Authorization": f"Bearer {token}"}).json()
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": made["pat_key"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
    }
    exchanged = http.post(document["token_endpoint"], data=form)
    assert exchanged.status_code == 200, exchanged.text
    assert exchanged.json()["issued_token_type"].endswith("access_token")


def test_the_pages_are_like_the_others(site: Site) -> None:
    ada = site.person()
    for path, up in {"/login": "./", "/oauth/logout": "../", "/login/link?token=x": "../"}.items():
        page = ada.http.get(path)
        assert page.headers["content-type"].startswith("text/html")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script" not in page.text
        assert "style=" not in page.text
        assert f'href="{up}static/login.css"' in page.text
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "same-origin"
    assert ada.http.get("/static/login.css").status_code == 200
    assert ada.http.get("/login/").text.count('<base href="../">') == 1
    page = ada.http.get("/login")
    _, fields = form_on(page)
    assert fields.keys() == {"form", "email", "password"}
    for name in ("email", "password"):
        assert f'<label for="{name}">' in page.text


def test_a_password_is_long_enough_and_nothing_else_is_asked_of_it(site: Site) -> None:
    # Decision 892.
    subject = site.join()
    link = site.link(subject)
    ada, email = site.person(), f"{subject}@crm.example"
    for password, again, words in (
        ("a" * 11, "a" * 11, "The password must have at least 12 characters."),
        ("a" * 129, "a" * 129, "The password must have at most 128 characters."),
        ("a" * 12, "a" * 13, "The two are not the same."),
    ):
        answer = ada.send(ada.http.get(link), password=password, again=again)
        assert (answer.status_code, words_of(answer)) == (422, words)
        assert password not in answer.text
    assert ada.set_password(link, "a" * 12).status_code == 303
    assert site.person().sign_in(email, "a" * 12).status_code == 303
    # Composed in two ways, it is one password; and everybody who was signed in is signed out by another one.
    longest = "Ǻ" * 128
    assert ada.set_password(site.link(subject), longest).status_code == 303
    decomposed = "A\u030a\u0301" * 128
    assert site.person().sign_in(email, decomposed).status_code == 303
    assert site.person().sign_in(email, "a" * 12).status_code == 403


def test_commands_for_all_members_of_an_organization(site: Site) -> None:
    site.run("org", "create", "Gamma", "--id", "gamma")
    users = [site.join("gamma") for _ in range(3)]
    site.person().set_password(site.link(users[0]))
    lines = [line.split("\t") for line in site.run("member", "password-link", "--org", "gamma").out.splitlines()]
    assert [(user, email) for user, email, _ in lines] == [(user, f"{user}@crm.example") for user in users[1:]]
    for _, email, link in lines:
        assert site.person().set_password(link).status_code == 303
        assert site.person().sign_in(email).status_code == 303
    assert site.run("member", "password-link", "--org", "gamma").out == ""
    assert "is not a member of any organization" in site.run("member", "login-link", "--user", "nobody", code=1).err
    site.run("member", "password-link", code=2)
    assert site.run("member", "logout", "--user", users[1], "--password").out == "2\n"
    assert site.person().sign_in(f"{users[1]}@crm.example").status_code == 403


def test_doctor_says_what_became_of_a_login(site: Site) -> None:
    _, email = site.member()
    board, ada = Application(), site.person()
    token = ada.redeem(board, ada.code(board, email)).json()["access_token"]
    assert "ok       login: goes on" in site.run("doctor", "--token", token).out
    ada.send(ada.http.get("/oauth/logout"))
    said = site.commands.run(site.folder, "doctor", "--token", token, **site.settings)
    assert said.code == 1
    assert "login: has ended" in said.out
    assert token not in said.out + said.err


def test_nothing_secret_is_logged(site: Site) -> None:
    password = "a very secret password indeed"
    subject = site.join()
    link = site.link(subject)
    ada, email = site.person(), f"{subject}@crm.example"
    ada.set_password(link, password)
    wrong = "another secret, and wrong"
    site.person().sign_in(email, wrong)
    board = Application()
    code = board.code_in(ada.authorize(board))
    tokens = ada.redeem(board, code).json()
    again = ada.refresh(tokens["refresh_token"]).json()
    ada.refresh(tokens["refresh_token"])
    secrets = [password, wrong, link.rpartition("=")[2], code, board.verifier, email]
    secrets += [tokens["refresh_token"], again["refresh_token"], tokens["access_token"], *ada.http.cookies.values()]
    log = site.log
    assert all(secret not in log for secret in secrets)
    told = [(line["event"], line.get("subject")) for line in site.events() if line.get("subject") == subject]
    assert {event for event, _ in told} == {"password set", "signed in", "session token given"}
    assert any("came twice" in str(line["event"]) for line in site.events())
    assert any(line["event"] == "login refused" for line in site.events())
    database = (site.folder / "crm.db").read_bytes() if (site.folder / "crm.db").exists() else b""
    assert all(secret.encode() not in database for secret in secrets if secret != email)


def test_with_an_external_provider_all_of_it_is_absent(site: Site) -> None:
    external = {"CRM_OIDC_ISSUER": "https://login.example", "CRM_OIDC_AUDIENCE": "crm"}
    with (
        Service(site.folder, "--no-worker", **(site.settings | external)) as service,
        httpx.Client(base_url=service.address) as http,
    ):
        own = ("/oauth/authorize", "/oauth/logout", "/login", "/login/link", "/.well-known/openid-configuration")
        for path in own:
            assert http.get(path).status_code == 404
        assert http.get("/.well-known/oauth-authorization-server").status_code == 404
        for path in ("/oauth/token", "/oauth/revoke", "/oauth/authorize", "/login"):
            assert http.post(path, data={"grant_type": "refresh_token"}).status_code == 404
        for path in ("/graphql", "/docs"):
            page = http.get(path, headers={"Accept": "text/html"}).text
            assert '<meta name="sign-in" content="off" />' in page
    for path in ("/graphql", "/docs"):
        page = site.person().http.get(path, headers={"Accept": "text/html"}).text
        assert '<meta name="sign-in" content="on" />' in page
    refused = site.commands.run(site.folder, "member", "login-link", "--user", "u", **(site.settings | external))
    assert (refused.code, refused.out) == (1, "")
    assert "external identity provider" in refused.err
