// A real OpenID provider, for the tests of the external issuer.
//
// Every line on standard input is one configuration: {"keys": [private JWKs], "alg": "ES256"}. The provider begins anew
// with it, under the same address, and that address is written to standard output, among the provider's own notices.
// It ends when its input does.

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Provider } from 'oidc-provider';

let answer;
const server = createServer((request, response) => answer(request, response));
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

function provider({ keys, alg }) {
  return new Provider(issuer, {
    clients: [{
      client_id: 'user-1',
      client_secret: 'a-secret-of-the-tests',
      grant_types: ['client_credentials'],
      id_token_signed_response_alg: alg,
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    }],
    cookies: { keys: ['a-secret-of-the-tests'] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256'] },
    extraTokenClaims: () => ({ org_id: 'org-1', name: 'Ada', email: 'ada@example.org' }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:crm',
        getResourceServerInfo: () => ({
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          audience: 'crm',
          jwt: { sign: { alg } },
          scope: 'deals:read deals:manage',
        }),
      },
    },
    jwks: { keys },
    scopes: ['deals:read', 'deals:manage'],
    ttl: { ClientCredentials: 300 },
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  answer = provider(JSON.parse(line)).callback();
  console.log(issuer);
}
server.closeAllConnections();
server.close();
