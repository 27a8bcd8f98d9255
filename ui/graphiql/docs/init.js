/* global SwaggerUIBundle, drawTheme, systemIsDark, KEPT_THEME */

import { begin } from "./bar.js";
import { filled, found, madeBy } from "./examples.js";
import { foldedErrors } from "./folded.js";
import { hoisted, resolveSubtree } from "./references.js";
import { headers } from "../src/credentials.js";

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

// How an address was asked last: an answer does not say it.
const methods = new Map();
// Nothing is sent to another host, whatever the description should come to say.
function withCredential(request) {
  if (new URL(request.url, document.baseURI).origin !== location.origin) return request;
  methods.set(request.url, request.method);
  for (const [name, value] of Object.entries(headers())) request.headers[name] ??= value;
  return request;
}

// Values are set for all operations at once, and never over what somebody typed.
const ours = new Set([undefined, null, ""]);
const FILL = "crm_fill";
const fills = () => ({
  statePlugins: {
    spec: {
      actions: { fillParameters: (operations) => ({ type: FILL, payload: operations }) },
      reducers: {
        [FILL]: (state, { payload }) =>
          state.withMutations((changing) => {
            for (const { path, method, parameters } of payload)
              for (const [name, value] of Object.entries(parameters))
                put(changing, ["meta", "paths", path, method, "parameters", `path.${name}`, "value"], value);
          }),
      },
    },
    oas3: {
      actions: { fillBodies: (operations) => ({ type: FILL, payload: operations }) },
      reducers: {
        [FILL]: (state, { payload }) =>
          state.withMutations((changing) => {
            for (const { path, method, body } of payload)
              if (body) put(changing, ["requestData", path, method, "bodyValue"], body);
          }),
      },
    },
  },
});

function put(state, place, value) {
  if (!ours.has(state.getIn(place))) return;
  state.setIn(place, value);
}

async function post(query) {
  try {
    const response = await fetch(new URL("graphql", document.baseURI), {
      method: "POST",
      credentials: "omit",
      headers: { "content-type": "application/json", accept: "application/json", ...headers() },
      body: JSON.stringify({ query }),
    });
    return (await response.json()).data ?? {};
  } catch {
    return {};
  }
}

// The page is served at <prefix>/docs and the description at <prefix>/openapi.json.
const url = new URL("openapi.json", document.baseURI).href;
const spec = hoisted(await (await fetch(url, { credentials: "same-origin" })).json());
// An example of the description makes way for an identifier that there is.
for (const { parameters } of Object.values(spec.paths).flatMap(Object.values))
  for (const { in: place, example } of parameters) if (place === "path") ours.add(example);
let there = {};

function fill() {
  const operations = filled(spec, there);
  ui.specActions.fillParameters(operations);
  ui.oas3Actions.fillBodies(operations);
  for (const { parameters, body } of operations) for (const value of [...Object.values(parameters), body]) ours.add(value);
  document.documentElement.dataset.examples = Object.keys(there).length;
}

// What was just made here is the next example of paths that take its identifier.
function remember(response) {
  const made = madeBy(spec, methods.get(response.url), response);
  if (Object.keys(made).length > 0) {
    there = { ...there, ...made };
    setTimeout(fill);
  }
  return response;
}

const ui = SwaggerUIBundle({
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
  plugins: [foldedErrors, fills, () => ({ fn: { resolveSubtree } })],
  tryItOutEnabled: true,
  // The online validator is another host.
  validatorUrl: null,
});
window.ui = ui; // where its documentation has it, for whoever looks into the page
if (!location.hash) {
  const [{ get: first }] = Object.values(spec.paths);
  // Not by `layoutActions`, which would make an address and a step of the history of it.
  ui.getStore().dispatch({ type: "layout_show", payload: { thing: ["operations", first.tags[0], first.operationId], shown: true } });
}
begin(async (viewer) => {
  there = viewer?.organization ? await found(post) : {};
  fill();
});
