// src/credentials.js
var TOKEN = "crm-gateway:token";
var ORGANIZATION = "crm-gateway:organization";
var OURS = /^(?:crm-gateway|graphiql):/;
var isForgetting = false;
/** The tab's storage as GraphiQL gets it, which writes late: nothing comes back into a tab that forgets. */
var storage = {
	getItem: (name) => sessionStorage.getItem(name),
	setItem: (name, value) => isForgetting || sessionStorage.setItem(name, value),
	removeItem: (name) => sessionStorage.removeItem(name),
	clear: () => sessionStorage.clear(),
	get length() {
		return sessionStorage.length;
	}
};
function load() {
	return {
		token: sessionStorage.getItem(TOKEN) ?? "",
		organization: sessionStorage.getItem(ORGANIZATION) ?? ""
	};
}
function save({ token, organization }) {
	keep(TOKEN, clean(token));
	keep(ORGANIZATION, clean(organization));
}
var others = new BroadcastChannel("crm-gateway:forget");
others.onmessage = ({ data }) => {
	if (data && data === load().token) forgetHere();
};
/** Forget all that this tab, and each with the same token, keeps and shows: the pages begin anew. */
function forget() {
	others.postMessage(load().token);
	forgetHere();
}
function forgetHere() {
	isForgetting = true;
	for (const name of Object.keys(sessionStorage)) if (OURS.test(name)) sessionStorage.removeItem(name);
	location.reload();
}
/** What goes with a request, and with `connection_init` of a socket: names in lower case serve both. */
function headers() {
	const { token, organization } = load();
	const sent = {};
	if (token) sent["authorization"] = `Bearer ${token}`;
	if (organization && !token.startsWith("ak_")) sent["x-service-org"] = organization;
	return sent;
}
function keep(name, value) {
	if (value) storage.setItem(name, value);
	else storage.removeItem(name);
}
function clean(pasted) {
	return pasted.replace(/^\s*Bearer\s+/i, "").replace(/[^\x21-\x7e]/g, "");
}
// src/signin.js
var KEPT = "crm-gateway:sign-in";
var canSignIn = document.querySelector("meta[name=sign-in]")?.content === "on";
/** Leave for the page of the login, which sends the browser back to `path`; `{ problem }` where that cannot be. */
async function signIn(client, path) {
	if (!crypto.subtle) return { problem: "Signing in needs https, or the service on this machine" };
	const [verifier, state] = [random(), random()];
	const redirect = new URL(path, document.baseURI);
	redirect.search = redirect.hash = "";
	sessionStorage.setItem(KEPT, JSON.stringify({
		client,
		verifier,
		state,
		redirect: redirect.href
	}));
	const asked = new URLSearchParams({
		response_type: "code",
		client_id: client,
		redirect_uri: redirect.href,
		code_challenge: base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))),
		code_challenge_method: "S256",
		state
	});
	location.assign(new URL(`oauth/authorize?${asked}`, document.baseURI));
	return {};
}
/** Take what the login sent out of the address; null where it sent nothing, or this tab did not ask. */
function takeAnswer() {
	const given = new URLSearchParams(location.search);
	if (!given.has("state") || !(given.has("code") || given.has("error"))) return null;
	history.replaceState(history.state, "", location.pathname + location.hash);
	const asked = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
	sessionStorage.removeItem(KEPT);
	return asked?.state === given.get("state") ? {
		...asked,
		code: given.get("code")
	} : null;
}
/** Exchange the code: `{ token }`, or `{ problem }` in words. */
async function exchange({ client, verifier, redirect, code }) {
	if (!code) return { problem: "Nobody was signed in" };
	try {
		const response = await fetch(new URL("oauth/token", document.baseURI), {
			method: "POST",
			credentials: "omit",
			body: new URLSearchParams({
				grant_type: "authorization_code",
				client_id: client,
				redirect_uri: redirect,
				code,
				code_verifier: verifier
			})
		});
		if (response.ok) return { token: (await response.json()).access_token };
	} catch {
		return { problem: "The service did not answer: is it still running?" };
	}
	return { problem: "Signing in took too long: please try again" };
}
function random() {
	return base64url(crypto.getRandomValues(/* @__PURE__ */ new Uint8Array(32)));
}
function base64url(bytes) {
	return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
// docs/bar.js
var KINDS = {
	session: "session token",
	organization_key: "organization key",
	user_token: "user token"
};
var PAUSE_MS = 250;
var at = (id) => document.getElementById(id);
var token = at("token");
var organization = at("organization");
var heard = () => {};
var timer;
/** Ask who is calling; `hear` is called with the viewer whenever it is known, and with null for nobody. */
function begin(hear) {
	heard = hear;
	token.value = load().token;
	const answered = takeAnswer();
	if (answered) take(answered);
	else ask();
}
async function take(answered) {
	const { token: brought, problem } = await exchange(answered);
	if (brought) change({
		token: brought,
		organization: ""
	});
	else say("refused", problem);
}
function change(credentials) {
	save(credentials);
	if (clean(token.value) !== credentials.token) token.value = credentials.token;
	clearTimeout(timer);
	timer = setTimeout(ask, PAUSE_MS);
}
async function ask() {
	const asked = headers();
	at("show").hidden = !asked.authorization;
	if (!asked.authorization) return nobody("waiting", "Paste a token to run operations");
	say("asking", "Asking who this is …");
	let response, viewer;
	try {
		response = await fetch(new URL("viewer", document.baseURI), {
			credentials: "omit",
			headers: asked
		});
		viewer = await response.json();
	} catch {
		return nobody("refused", "The service did not answer: is it still running?");
	}
	if (JSON.stringify(asked) !== JSON.stringify(headers())) return;
	if (!response.ok) {
		if (response.status === 401) return nobody("refused", "The service refused this token");
		if (!asked["x-service-org"]) return nobody("refused", "The service does not say who this is");
		return change({
			token: load().token,
			organization: ""
		});
	}
	if (!viewer.organization && viewer.organizations.length === 1) return change({
		token: load().token,
		organization: viewer.organizations[0].id
	});
	known(viewer);
}
function nobody(kind, words) {
	say(kind, words);
	list(null);
	at("who-button").hidden = true;
	at("sign-in").hidden = !canSignIn;
	heard(null);
}
function known(viewer) {
	if (viewer.organization) say("ready", "Kept in this tab only");
	else say("waiting", "Choose an organization");
	list(viewer);
	at("sign-in").hidden = true;
	at("who-button").hidden = false;
	const count = viewer.scopes.length;
	at("who-button").replaceChildren(made("b", viewer.name ?? viewer.subject), ` · ${count} ${count === 1 ? "scope" : "scopes"} ▾`);
	at("who").replaceChildren(...described(viewer));
	heard(viewer);
}
function say(kind, words) {
	at("status").className = `bar-status bar-status-${kind}`;
	at("status").textContent = at("status").title = words;
}
function list(viewer) {
	const all = viewer?.organizations ?? [];
	const active = viewer?.organization;
	const listed = active && !all.some(({ id }) => id === active.id) ? [active, ...all] : all;
	const options = listed.map(({ id, name }) => new Option(name, id, false, id === active?.id));
	if (!active) options.unshift(new Option(viewer ? "choose one …" : "—", "", true, true));
	organization.replaceChildren(...options);
	organization.disabled = viewer?.credential_kind === "organization_key" || listed.length < 1;
}
function described({ subject, email, credential_kind: kind, organization: acts, scopes }) {
	const rows = [
		["Subject", made("code", subject)],
		email && ["E-mail", email],
		["Credential", KINDS[kind] ?? kind],
		["Acts in", acts ? acts.name : "no organization yet"],
		acts && ["X-Service-Org", made("code", acts.id)]
	].filter(Boolean);
	const lines = [...Map.groupBy(scopes, (scope) => scope.split(":")[0])].map(([noun, all]) => made("li", made("code", noun), ` ${all.map((scope) => scope.split(":")[1]).join(", ")}`));
	const button = made("button", "Forget the token");
	button.type = "button";
	button.addEventListener("click", forget);
	const leave = made("a", "Sign out of this browser");
	leave.href = "oauth/logout";
	return [
		made("dl", ...rows.flatMap(([term, said]) => [made("dt", term), made("dd", said)])),
		made("h2", "Scopes"),
		made("ul", ...lines),
		button,
		...canSignIn ? [made("p", leave)] : []
	];
}
function made(name, ...children) {
	const element = document.createElement(name);
	element.append(...children);
	return element;
}
token.addEventListener("input", () => change({
	...load(),
	token: clean(token.value)
}));
organization.addEventListener("change", () => change({
	...load(),
	organization: organization.value
}));
at("show").addEventListener("click", () => {
	const isShown = token.type === "password";
	token.type = isShown ? "text" : "password";
	at("show").textContent = isShown ? "Hide" : "Show";
	at("show").setAttribute("aria-pressed", isShown);
});
at("sign-in").addEventListener("click", async () => {
	const { problem } = await signIn("docs", "docs");
	if (problem) say("refused", problem);
});
addEventListener("pageshow", ({ persisted }) => {
	if (persisted && clean(token.value) !== load().token) location.reload();
});
// docs/examples.js
var DOCUMENTS = [
	`{ accounts(first: 1) { nodes { id } } contacts(first: 2) { nodes { id } } deals(first: 1) { nodes { id } }
     leads(first: 1, filter: { status: { eq: NEW } }) { nodes { id } } pipelineStages { id }
     members(first: 2) { nodes { id } } tags(first: 2) { nodes { id } } salesTargets(first: 1) { nodes { id } }
     folders(first: 1) { nodes { id } } files(first: 1) { nodes { id } } dataImports(first: 1) { nodes { id } }
     merges(first: 1) { nodes { id } } integrations(first: 1) { nodes { id } }
     reports(first: 5) { nodes { id runs(first: 1) { nodes { id } } } }
     researchRuns(first: 1) { nodes { id results(first: 5) { nodes { id cxReport { render { id } artifacts { url } } } } } }
     chatThreads(first: 5) { nodes { id runs(first: 1) { nodes { id } } } } chatApprovals(first: 1) { nodes { id } } }`,
	`{ activities(first: 1) { nodes { id } } meetings(first: 1) { nodes { id } } }`,
	`{ campaigns(first: 1) { nodes { id } } }`,
	`{ savedQueries(first: 1) { nodes { id } } analyticsRuns(first: 1) { nodes { id conversationId } } }`,
	`{ organizationKeys { id } }`,
	`{ userTokens { id } }`
];
var PLACES = {
	"/accounts": ({ accounts }) => ids(accounts),
	"/activities": ({ activities }) => ids(activities),
	"/activities/meetings": ({ meetings }) => ids(meetings),
	"/analytics/conversations": ({ analyticsRuns }) => analyticsRuns?.nodes.map((run) => run.conversationId),
	"/analytics/runs": ({ analyticsRuns }) => ids(analyticsRuns),
	"/analytics/saved-queries": ({ savedQueries }) => ids(savedQueries),
	"/chat/approvals": ({ chatApprovals }) => ids(chatApprovals),
	"/chat/runs": ({ chatThreads }) => chatThreads?.nodes.flatMap(({ runs }) => ids(runs)),
	"/chat/threads": ({ chatThreads }) => ids(chatThreads),
	"/contacts": ({ contacts }) => ids(contacts),
	"/customer-intelligence/runs": ({ researchRuns }) => ids(researchRuns),
	"/customer-intelligence/runs/{run_id}/results": (all) => reported(all).map(({ id }) => id),
	"/deals": ({ deals }) => ids(deals),
	"/deals/{deal_id}/contacts": ({ contacts }) => ids(contacts),
	"/files": ({ files }) => ids(files),
	"/folders": ({ folders }) => ids(folders),
	"/imports": ({ dataImports }) => ids(dataImports),
	"/integrations": ({ integrations }) => ids(integrations),
	"/jobs": (all) => reported(all).map(({ cxReport }) => cxReport.render?.id),
	"/leads": ({ leads }) => ids(leads),
	"/media": (all) => reported(all).flatMap(({ cxReport }) => cxReport.artifacts.map(({ url }) => url.split("/").pop())),
	"/members": ({ members }) => ids(members),
	"/merges": ({ merges }) => ids(merges),
	"/organization-pats": ({ organizationKeys }) => organizationKeys?.map(({ id }) => id),
	"/outreach/campaigns": ({ campaigns }) => ids(campaigns),
	"/pipeline-stages": ({ pipelineStages }) => pipelineStages?.map(({ id }) => id),
	"/records": ({ deals }) => ids(deals),
	"/records/{record_id}/files": ({ files }) => ids(files),
	"/report-runs": ({ reports }) => reports?.nodes.flatMap(({ runs }) => ids(runs)),
	"/reports": ({ reports }) => ids(reports),
	"/sales-targets": ({ salesTargets }) => ids(salesTargets),
	"/tags": ({ tags }) => ids(tags),
	"/user-pats": ({ userTokens }) => userTokens?.map(({ id }) => id)
};
var PART = /\/\{(\w+)\}/g;
var ids = (connection) => connection?.nodes.map(({ id }) => id) ?? [];
var reported = ({ researchRuns }) => researchRuns?.nodes.flatMap(({ results }) => results.nodes.filter(({ cxReport }) => cxReport)) ?? [];
/** The identifiers that there are, by the path before them; `post(document)` gives the answer's `data`. */
async function found(post) {
	const all = Object.assign({}, ...await Promise.all(DOCUMENTS.map(post)));
	const entries = Object.entries(PLACES).map(([place, read]) => [place, (read(all) ?? []).filter(Boolean)]);
	return Object.fromEntries(entries.filter(([, known]) => known.length > 0));
}
/**
* What an answer brought of new identifiers, by the path before them: the record that a POST to its list made, and each
* path that the answer names, such as where a job is followed.
*/
function madeBy(spec, method, { ok, url, headers, body }) {
	if (!ok || method !== "POST") return {};
	const base = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");
	const asked = new URL(url).pathname.slice(base.length - 1);
	const texts = [headers?.location, ...Object.values(body ?? {})].filter((text) => /^\/\w/.test(text));
	const named = [body?.id && `${asked}/${body.id}`, ...texts].filter(Boolean);
	const places = Object.keys(spec.paths).filter((path) => /^[^{}]+\/\{\w+\}$/.test(path));
	return Object.fromEntries(named.flatMap((path) => {
		const [, place, made] = path.match(/^(.+)\/([^/]+)$/) ?? [];
		return places.some((one) => one.startsWith(`${place}/{`)) ? [[place, [decodeURIComponent(made)]]] : [];
	}));
}
/** For each operation `{ path, method, parameters, body }` what it begins with, where something is known. */
function filled(spec, known) {
	const samples = samplesOf(spec, known);
	return Object.entries(spec.paths).flatMap(([path, methods]) => {
		const parameters = Object.fromEntries([...path.matchAll(PART)].map((match) => [match[1], known[path.slice(0, match.index)]?.[0]]).filter(([, value]) => value));
		return Object.entries(methods).map(([method, operation]) => {
			const example = operation.requestBody?.content["application/json"]?.example;
			return {
				path,
				method,
				parameters,
				body: example && replaced(example, samples)
			};
		});
	});
}
/** Which identifiers of the description's examples stand for which known ones. */
function samplesOf(spec, known) {
	const samples = /* @__PURE__ */ new Map();
	for (const [place, values] of Object.entries(known)) {
		const answer = spec.paths[place]?.get?.responses["200"]?.content?.["application/json"]?.example;
		const sample = Array.isArray(answer) && (answer[0]?.id ?? answer[0]?.lead_id);
		if (sample && !samples.has(sample)) samples.set(sample, values[0]);
	}
	return samples;
}
/** The example with known identifiers in it, as text; null where it has none to replace. */
function replaced(example, samples) {
	let isChanged = false;
	const text = JSON.stringify(example, (_, value) => {
		if (!samples.has(value)) return value;
		isChanged = true;
		return samples.get(value);
	}, 2);
	return isChanged ? text : null;
}
// docs/folded.js
function foldedErrors({ React }) {
	const { createElement: made, useState } = React;
	const responses = (Original) => function FoldedErrors(props) {
		const [isOpen, setIsOpen] = useState(false);
		const count = props.responses.keySeq().filter((status) => /^[45]/.test(status)).count();
		const words = `${isOpen ? "Hide" : "Show"} the ${count} answers that tell of an error`;
		const button = made("button", {
			type: "button",
			className: "errors-button",
			"aria-expanded": isOpen,
			onClick: () => setIsOpen(!isOpen)
		}, words);
		return made("div", { className: isOpen ? "" : "errors-folded" }, made(Original, props), count > 0 && button);
	};
	return { wrapComponents: { responses } };
}
// docs/references.js
/** In place of `fn.resolveSubtree`: what stands at the path of the description, with its references followed. */
function resolveSubtree(spec, path) {
	const there = path.reduce((value, key) => value?.[key], spec);
	return Promise.resolve({
		spec: followed(spec, there, []),
		errors: []
	});
}
/** A reference within what it leads to stays as it is: it would have no end. */
function followed(spec, value, above) {
	if (Array.isArray(value)) return value.map((one) => followed(spec, one, above));
	if (value === null || typeof value !== "object") return value;
	const reference = value.$ref;
	if (typeof reference !== "string") return each(spec, value, above);
	if (above.includes(reference)) return value;
	const there = reference.slice(2).split("/").reduce((found, key) => found?.[decodeURIComponent(key).replace(/~1/g, "/").replace(/~0/g, "~")], spec);
	const { $ref, ...beside } = value;
	return {
		...followed(spec, there, [...above, $ref]),
		...each(spec, beside, above),
		$$ref: $ref
	};
}
function each(spec, value, above) {
	return mapped(value, (one) => followed(spec, one, above));
}
/**
* The description with answers that several operations share in one place: what tells of errors is most of it, and
* nearly the same everywhere.
*/
function hoisted(spec) {
	const places = /* @__PURE__ */ new Map();
	const shared = {};
	const place = ([status, answer]) => {
		if (!/^[45]/.test(status)) return [status, answer];
		const text = JSON.stringify(answer);
		if (!places.has(text)) {
			const name = `${status}-${places.size}`;
			places.set(text, { $ref: `#/components/responses/${name}` });
			shared[name] = answer;
		}
		return [status, places.get(text)];
	};
	const paths = mapped(spec.paths, (methods) => mapped(methods, (operation) => ({
		...operation,
		responses: Object.fromEntries(Object.entries(operation.responses).map(place))
	})));
	return {
		...spec,
		paths,
		components: {
			...spec.components,
			responses: shared
		}
	};
}
function mapped(object, change) {
	return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
// docs/init.js
function theme() {
	const isDark = drawTheme();
	document.getElementById("theme").textContent = isDark ? "Light" : "Dark";
	document.getElementById("theme").title = isDark ? "Draw the page in light colours" : "Draw the page in dark colours";
}
document.getElementById("theme").addEventListener("click", () => {
	sessionStorage.setItem(KEPT_THEME, document.documentElement.classList.contains("dark-mode") ? "light" : "dark");
	theme();
});
systemIsDark.addEventListener("change", theme);
theme();
var methods = /* @__PURE__ */ new Map();
function withCredential(request) {
	if (new URL(request.url, document.baseURI).origin !== location.origin) return request;
	methods.set(request.url, request.method);
	for (const [name, value] of Object.entries(headers())) request.headers[name] ??= value;
	return request;
}
var ours = /* @__PURE__ */ new Set([
	void 0,
	null,
	""
]);
var FILL = "crm_fill";
var fills = () => ({ statePlugins: {
	spec: {
		actions: { fillParameters: (operations) => ({
			type: FILL,
			payload: operations
		}) },
		reducers: { [FILL]: (state, { payload }) => state.withMutations((changing) => {
			for (const { path, method, parameters } of payload) for (const [name, value] of Object.entries(parameters)) put(changing, [
				"meta",
				"paths",
				path,
				method,
				"parameters",
				`path.${name}`,
				"value"
			], value);
		}) }
	},
	oas3: {
		actions: { fillBodies: (operations) => ({
			type: FILL,
			payload: operations
		}) },
		reducers: { [FILL]: (state, { payload }) => state.withMutations((changing) => {
			for (const { path, method, body } of payload) if (body) put(changing, [
				"requestData",
				path,
				method,
				"bodyValue"
			], body);
		}) }
	}
} });
function put(state, place, value) {
	if (!ours.has(state.getIn(place))) return;
	state.setIn(place, value);
}
async function post(query) {
	try {
		return (await (await fetch(new URL("graphql", document.baseURI), {
			method: "POST",
			credentials: "omit",
			headers: {
				"content-type": "application/json",
				accept: "application/json",
				...headers()
			},
			body: JSON.stringify({ query })
		})).json()).data ?? {};
	} catch {
		return {};
	}
}
var url = new URL("openapi.json", document.baseURI).href;
var spec = hoisted(await (await fetch(url, { credentials: "same-origin" })).json());
for (const { parameters } of Object.values(spec.paths).flatMap(Object.values)) for (const { in: place, example } of parameters) if (place === "path") ours.add(example);
var there = {};
function fill() {
	const operations = filled(spec, there);
	ui.specActions.fillParameters(operations);
	ui.oas3Actions.fillBodies(operations);
	for (const { parameters, body } of operations) for (const value of [...Object.values(parameters), body]) ours.add(value);
	document.documentElement.dataset.examples = Object.keys(there).length;
}
function remember(response) {
	const made = madeBy(spec, methods.get(response.url), response);
	if (Object.keys(made).length > 0) {
		there = {
			...there,
			...made
		};
		setTimeout(fill);
	}
	return response;
}
var ui = SwaggerUIBundle({
	spec,
	dom_id: "#swagger-ui",
	deepLinking: true,
	defaultModelsExpandDepth: 0,
	displayRequestDuration: true,
	filter: true,
	persistAuthorization: false,
	requestInterceptor: withCredential,
	responseInterceptor: remember,
	presets: [SwaggerUIBundle.presets.apis],
	plugins: [
		foldedErrors,
		fills,
		() => ({ fn: { resolveSubtree } })
	],
	tryItOutEnabled: true,
	validatorUrl: null
});
window.ui = ui;
if (!location.hash) {
	const [{ get: first }] = Object.values(spec.paths);
	ui.getStore().dispatch({
		type: "layout_show",
		payload: {
			thing: [
				"operations",
				first.tags[0],
				first.operationId
			],
			shown: true
		}
	});
}
begin(async (viewer) => {
	there = viewer?.organization ? await found(post) : {};
	fill();
});
