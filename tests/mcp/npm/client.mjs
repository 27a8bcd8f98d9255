// Uses the MCP door as a client of the TypeScript SDK does, and prints what it found as JSON.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [address, authorization] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(new URL(address), {
  requestInit: { headers: { Authorization: authorization } },
});
const client = new Client({ name: 'tests', version: '1.0.0' });
await client.connect(transport);
const { tools } = await client.listTools();
const listed = await client.callTool({ name: 'list_records', arguments: { kind: 'deal' } });
const refused = await client.callTool({ name: 'get_record', arguments: { kind: 'deal' } });
const unknown = await client.callTool({ name: 'no_tool', arguments: {} }).catch((error) => error.code);
const kinds = await client.readResource({ uri: 'crm://kinds' });
const { prompts } = await client.listPrompts();
console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    names: listed.structuredContent.data.nodes.map((node) => node.name),
    refused: refused.isError,
    unknown,
    kinds: JSON.parse(kinds.contents[0].text).kinds.length,
    prompts: prompts.length,
  }),
);
await client.close();
