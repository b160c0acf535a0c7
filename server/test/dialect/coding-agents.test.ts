import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { chunkOf, eventsOf, streamOf, usual } from '../upstreams/fakes/openai-chat.ts';
import { openStage, type Stage } from './responses-kit.ts';

type Json = Record<string, any>;

/** Real coding agents with the settings of docs/clients.md. They are too large for every checkout. */

interface Agent {
  /** The variable with the path of the agent's program. */
  variable: string;
  args: string[];
  env(stage: Stage, dir: string, model: string): Record<string, string>;
  /** Writes the agent's settings into `dir`. */
  settle?(stage: Stage, dir: string, model: string): void;
  /** A model's call of the agent's tool that runs a command. */
  tool: { name: string; arguments: Json };
  /** Reasoning that comes before the answer and returns with the next call. */
  thoughts: Json[];
}

const command = 'cat note.txt';
const agents: Record<string, Agent> = {
  Codex: {
    variable: 'FAREBOX_TEST_CODEX',
    args: ['exec', '--sandbox', 'danger-full-access', '--skip-git-repo-check'],
    env: ({ account }, dir) => ({ CODEX_HOME: dir, FAREBOX_API_KEY: account.key }),
    settle: ({ service }, dir, model) =>
      writeFileSync(join(dir, 'config.toml'), codexIn(service.base, model)),
    tool: { name: 'exec_command', arguments: { cmd: command } },
    thoughts: [{ type: 'reasoning.text', text: 'Look.', signature: 'c2ln', index: 0 }],
  },
  'Claude Code': {
    variable: 'FAREBOX_TEST_CLAUDE_CODE',
    args: ['--allowedTools', 'Bash(cat:*)', '-p'],
    env: ({ service, account }, _dir, model) => ({
      ANTHROPIC_BASE_URL: service.base,
      ANTHROPIC_AUTH_TOKEN: account.key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    tool: { name: 'Bash', arguments: { command } },
    thoughts: [],
  },
};

for (const [name, agent] of Object.entries(agents)) {
  const program = process.env[agent.variable];
  const skip = program ? false : `${agent.variable} names no program`;
  describe(name, { skip }, () => {
    let stage: Stage;
    let dir: string;
    before(async () => {
      stage = await openStage();
      dir = mkdtempSync(join(tmpdir(), 'farebox-agent-'));
      writeFileSync(join(dir, 'note.txt'), 'The harbour opens at six.\n');
    });
    after(async () => {
      rmSync(dir, { recursive: true });
      await stage.close();
    });

    async function ask(model: string, question: string): Promise<string> {
      agent.settle?.(stage, dir, model);
      const running = promisify(execFile)(program!, [...agent.args, question], {
        cwd: dir,
        env: { PATH: process.env.PATH, HOME: dir, ...agent.env(stage, dir, model) },
        timeout: 60_000,
      });
      running.child.stdin?.end();
      return (await running).stdout;
    }

    test('at the sandbox: calls a tool, sends its result back, and answers', async () => {
      const said = await ask('stage/sandbox', `sandbox:tool=${agent.tool.name} When does it open?`);
      assert.match(said, new RegExp(`${agent.tool.name} answered: `));
      assert.equal(stage.fake.chat.asked.length, 0);
    });

    test('reads a file by its tool and answers', async () => {
      const { tool, thoughts } = agent;
      const called = {
        id: 'call_1',
        type: 'function',
        function: { name: tool.name, arguments: JSON.stringify(tool.arguments) },
      };
      stage.fake.chat.script(
        streamOf(
          eventsOf([
            ...thoughts.map((each) => chunkOf({ reasoning_details: [each] })),
            chunkOf({ content: 'I read the note.' }),
            chunkOf({ tool_calls: [{ index: 0, ...called }] }),
            chunkOf({}, { usage: usual }, 'tool_calls'),
          ]),
        ),
        streamOf(
          eventsOf([chunkOf({ content: 'At six.' }), chunkOf({}, { usage: usual }, 'stop')]),
        ),
      );
      assert.match(await ask('stage/chat', 'When does it open?'), /At six\./);
      const { messages, tools } = stage.asked() as Json;
      assert.equal(stage.fake.chat.asked.length, 2);
      assert.ok(tools.every(({ type }: Json) => type === 'function' || type === 'custom'));
      const [answer, output] = messages.slice(-2);
      assert.equal(answer.content, 'I read the note.');
      assert.deepEqual(answer.reasoning_details ?? [], thoughts);
      assert.deepEqual(answer.tool_calls, [called]);
      assert.equal(output.tool_call_id, 'call_1');
      assert.match(output.content, /The harbour opens at six\./);
    });
  });
}

function codexIn(base: string, model: string): string {
  return `
model = "${model}"
model_provider = "farebox"
web_search = "disabled"

[model_providers.farebox]
name = "Farebox"
base_url = "${base}/v1"
env_key = "FAREBOX_API_KEY"
wire_api = "responses"
`;
}
