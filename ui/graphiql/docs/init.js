/* global SwaggerUIBundle */
// The page is served at <prefix>/docs and the description at <prefix>/openapi.json.
SwaggerUIBundle({
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: false,
  presets: [SwaggerUIBundle.presets.apis],
  tryItOutEnabled: false,
  // The online validator is another host.
  validatorUrl: null,
});
