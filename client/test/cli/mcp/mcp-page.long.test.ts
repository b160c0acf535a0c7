import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { inLong } from '../../../../server/test/kit/long.ts';
import { startAgent, openScene, type Scene } from './mcp-kit.ts';

/** docs/mcp.md names all tools and options, and its configurations work. */

const page = readFileSync(join(import.meta.dirname, '../../../../docs/mcp.md'), 'utf8');

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.stop());

inLong('every configuration on the page starts a server that keeps its limit', async () => {
  const blocks = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, json]) =>
    JSON.parse(json!),
  );
  assert.equal(blocks.length, 2);
  const lines = [...page.matchAll(/-- fare (mcp .*)$/gm)].map(([, line]) => line!.split(' '));
  assert.equal(lines.length, 1);
  const servers = blocks.map(({ servers, mcpServers }) => (servers ?? mcpServers).farebox);
  for (const { command } of servers) assert.equal(command, 'fare');
  for (const args of [...servers.map((server) => server.args as string[]), ...lines]) {
    const [verb, ...flags] = args.map((arg) =>
      arg.replace('${workspaceFolder}', scene.service.dir),
    );
    assert.equal(verb, 'mcp');
    const agent = await startAgent(scene.service, scene.account, flags);
    const { fields } = await agent.use('get_balance');
    assert.equal(fields.session.limit_usd, '$2.00');
    await agent.close();
  }
});

test('the table of tools is the list of tools, and says which of them spend', async () => {
  await scene.withAgent([], async (agent) => {
    const { tools } = await agent.client.listTools();
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| .* \|( yes)? \|$/gm)].map(
      ([, name, spends]) => ({ name: name!, spends: spends !== undefined }),
    );
    const offered = tools.map(({ name, description }) => ({
      name,
      spends: description!.includes('SPENDS'),
    }));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    assert.deepEqual(rows.sort(byName), offered.sort(byName));
  });
});

test('errors come as the page says: in text alone, and without a code if no tool began', async () => {
  assert.ok(page.includes('as JSON in text alone, `{"error":{"code":"…","message":"…"}}`'));
  assert.ok(page.includes('a text without JSON and code'));
  await scene.withAgent([], async ({ client }) => {
    const refusal = async (name: string, args: Record<string, unknown>) => {
      const reply = (await client.callTool({ name, arguments: args })) as CallToolResult;
      const [said, ...more] = reply.content;
      assert.ok(said?.type === 'text');
      const { isError, structuredContent } = reply;
      assert.deepEqual([isError, structuredContent, more], [true, undefined, []]);
      return said.text;
    };
    const unknown = await refusal('generate', { model_id: 'no/such', input: {} });
    const { error, ...others } = JSON.parse(unknown);
    assert.deepEqual([others, error.code, typeof error.message], [{}, 'unknown_model', 'string']);
    for (const [name, args] of [
      ['generate', { model_id: 7 }],
      ['draw', {}],
    ] as const) {
      const text = await refusal(name, args);
      assert.throws(() => JSON.parse(text), SyntaxError, text);
    }
  });
});
