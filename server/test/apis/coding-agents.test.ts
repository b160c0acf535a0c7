import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { chatWires } from '../upstreams/chat-wires.ts';
import type { FakeChat } from '../upstreams/fakes/said.ts';
import { modelOf, type Cast, type Scene } from './agent-model.ts';

/**
 * Real coding agents with the settings of docs/clients.md, before an upstream of each API. They are
 * too large for every checkout.
 */

type WireName = keyof typeof chatWires;
const wires = Object.keys(chatWires) as WireName[];

interface Place {
  base: string;
  key: string;
  dir: string;
  model: string;
}

interface Agent extends Cast {
  /** The variable with the path of the agent's program. */
  variable: string;
  args: string[];
  env(place: Place): Record<string, string>;
  /** Writes the agent's settings. `more`: lines at their top. */
  settle?(place: Place, more: string): void;
  /** The reaction to a prompt that is too long, the same as at the service of its maker. */
  tooLong: 'goes on' | 'stops';
}

const codex: Agent = {
  variable: 'FAREBOX_TEST_CODEX',
  args: ['exec', '--sandbox', 'danger-full-access', '--skip-git-repo-check'],
  env: ({ key, dir }) => ({ CODEX_HOME: dir, FAREBOX_API_KEY: key }),
  settle: (place, more) => writeFileSync(join(place.dir, 'config.toml'), codexIn(place, more)),
  tool: 'exec_command',
  run: (cmd) => ({ cmd }),
  summary: /CONTEXT CHECKPOINT COMPACTION/,
  thinks: true,
  tooLong: 'stops',
};

const claude: Agent = {
  variable: 'FAREBOX_TEST_CLAUDE_CODE',
  args: ['--allowedTools', 'Bash(cat:*)', '-p'],
  env: ({ base, key, model }) => ({
    ANTHROPIC_BASE_URL: base,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
  tool: 'Bash',
  run: (command) => ({ command, description: 'Look' }),
  summary: /detailed summary of (the|our|this) conversation/,
  thinks: true,
  tooLong: 'goes on',
};

const opencode = (npm: string): Agent => ({
  variable: 'FAREBOX_TEST_OPENCODE',
  args: ['run'],
  env: ({ dir, key }) => ({
    XDG_CONFIG_HOME: dir,
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    FAREBOX_API_KEY: key,
  }),
  settle: (place) => {
    mkdirSync(join(place.dir, 'opencode'), { recursive: true });
    writeFileSync(join(place.dir, 'opencode/opencode.json'), opencodeIn(place, npm));
  },
  tool: 'bash',
  run: (command) => ({ command, description: 'Look' }),
  summary: /anchored summary|Output exactly the Markdown structure/,
  thinks: true,
  tooLong: 'goes on',
});

/** Each way to refuse once, because a program takes half a minute on a busy machine. */
const refusals = [
  ['by status', 'completions'],
  ['by status', 'messages'],
  ['in its stream', 'responses'],
  ['by Farebox', 'completions'],
] as const;

const agents: Record<string, Agent> = {
  Codex: codex,
  'Claude Code': claude,
  'opencode, chat completions': opencode('@ai-sdk/openai-compatible'),
  'opencode, Responses': opencode('@ai-sdk/openai'),
  'opencode, Messages': opencode('@ai-sdk/anthropic'),
};

const named = (agent: Agent) => process.env[agent.variable];
const skip = Object.values(agents).some(named) ? false : 'no variable names a program';

describe('coding agents', { skip }, () => {
  const open = {} as Record<WireName, FakeChat>;
  let service: Service;
  let account: TestAccount;
  let dir: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'farebox-agents-'));
    mkdirSync(join(dir, 'catalog'));
    for (const wire of wires) {
      open[wire] = await chatWires[wire].open();
      writeFileSync(join(dir, 'catalog', `${wire}.yaml`), catalogOf(wire, open[wire].url));
    }
    service = await startService({
      env: {
        FAREBOX_CATALOG: join(dir, 'catalog'),
        ...Object.fromEntries(wires.map((wire) => [keyOf(wire), open[wire].key])),
        FAREBOX_TEST_PUBLIC_HOSTS: wires.map((wire) => new URL(open[wire].url).host).join(','),
      },
      times: { keepAliveMs: 100 },
    });
    account = await service.account({ usd: 1_000 });
  });
  after(async () => {
    await service.audit();
    await service.stop();
    for (const wire of wires) await open[wire].close();
    rmSync(dir, { recursive: true });
  });

  /** Runs the agent's program before a model that plays the scene. Returns what it prints. */
  async function play(agent: Agent, wire: WireName, scene: Scene, row = 'whole', more = '') {
    const own = mkdtempSync(join(dir, 'work-'));
    const line = 'A line of a large file, of which nobody needs to know.\n';
    for (const [name, text] of Object.entries({
      note: 'The harbour opens at six.\n',
      other: 'The ferry leaves at nine.\n',
      third: 'The fare is three.\n',
      large: line.repeat(400),
      larger: line.repeat(420),
    }))
      writeFileSync(join(own, `${name}.txt`), text);
    const model = `agents/${row}/${wire}`;
    const place = { base: service.base, key: account.key, dir: own, model };
    agent.settle?.(place, more);
    open[wire].desk.play(modelOf(chatWires[wire], agent, scene));
    const env = { PATH: process.env.PATH!, HOME: own, ...agent.env(place) };
    const args = [...agent.args, 'Read the notes.'];
    return new Promise<string>((resolve) => {
      const options = { cwd: own, env, timeout: 120_000 };
      const running = execFile(named(agent)!, args, options, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      );
      running.stdin?.end();
    });
  }

  for (const [name, agent] of Object.entries(agents)) {
    const own = { skip: named(agent) ? false : `${agent.variable} names no program` };
    describe(name, own, () => {
      for (const wire of wires) {
        test(`calls tools at once, sends their results and ends: ${wire}`, async () => {
          const scene: Scene = { turns: [], silentMs: 1_000 };
          assert.match(await play(agent, wire, scene), /At six, says the note\./);
          const turns = scene.turns.filter((turn) => turn !== 'title');
          assert.deepEqual(turns, ['calls', 'calls', 'end']);
          const { results, calls } = chatWires[wire].asked(open[wire].desk.asked.at(-1)!);
          assert.deepEqual(results.toSorted(), ['call_0', 'call_1', 'call_2']);
          assert.deepEqual(calls.toSorted(), results.toSorted());
        });
      }

      for (const [refuses, wire] of refusals)
        test(`a prompt that is too long, refused ${refuses}: ${wire}`, async () => {
          const isOurs = refuses === 'by Farebox';
          const limit = isOurs ? Infinity : 30_000;
          const scene: Scene = { turns: [], limit, ...(!isOurs && { refuses }) };
          const said = await play(agent, wire, scene, isOurs ? 'short' : 'whole');
          const refused = scene.turns.filter((turn) => turn === 'refusal').length;
          assert.ok(refused <= 2, `${refused} calls were refused`);
          const goesOn = agent.tooLong === 'goes on';
          assert.match(said, goesOn ? /At six, says the note\./ : /context window/);
          assert.equal(scene.turns.includes('summary'), goesOn, scene.turns.join());
        });
    });
  }

  describe('Codex alone', { skip: named(codex) ? false : 'there is no Codex' }, () => {
    for (const wire of wires) {
      test(`goes on after a goal, of which it tells without a call: ${wire}`, async () => {
        const first = [
          { name: 'create_goal', input: { objective: 'Read.' } },
          { name: 'exec_command', input: { cmd: 'cat note.txt' } },
          { name: 'update_goal', input: { status: 'complete' } },
        ];
        const said = await play(codex, wire, { turns: [], first });
        assert.match(said, /At six, says the note\./);
        assert.match(JSON.stringify(open[wire].desk.asked.at(-1)), /agent\.goal_objective/);
      });

      test(`compacts by the usage that it is told: ${wire}`, async () => {
        const scene: Scene = { turns: [], limit: 30_000 };
        const said = await play(codex, wire, scene, 'whole', 'model_context_window = 30000');
        assert.match(said, /At six, says the note\./);
        assert.ok(!scene.turns.includes('refusal') && scene.turns.includes('summary'));
      });
    }
  });
});

const keyOf = (wire: WireName) => `AGENTS_${wire.toUpperCase()}`;

function catalogOf(wire: WireName, url: string): string {
  const row = (name: string, more: string) => `
  - id: agents/${name}/${wire}
    kind: text
    task: chat
    name: Agents
    price: { unit: 1M tokens, input_usd: "3", output_usd: "15" }
    max_output_tokens: 32000
    upstream_model: model-fake
    ${more}`;
  const { adapter, options } = chatWires[wire];
  return `
upstream: { name: ${wire}, adapter: ${adapter}, url: "${url}", key_from: ${keyOf(wire)}, options: ${options} }
models:${row('whole', 'context_tokens: 200000')}${row('short', 'context_tokens: 90000\n    refuse_longer_prompts: true')}
`;
}

function codexIn({ base, model }: Place, more: string): string {
  return `
model = "${model}"
model_provider = "farebox"
web_search = "disabled"
${more}

[model_providers.farebox]
name = "Farebox"
base_url = "${base}/v1"
env_key = "FAREBOX_API_KEY"
wire_api = "responses"
`;
}

function opencodeIn({ base, model }: Place, npm: string): string {
  const limit = { context: 200_000, output: 8_000 };
  const farebox = {
    npm,
    name: 'Farebox',
    options: { baseURL: `${base}/v1`, apiKey: '{env:FAREBOX_API_KEY}' },
    models: { [model]: { name: model, limit } },
  };
  return JSON.stringify({
    model: `farebox/${model}`,
    permission: { bash: 'allow' },
    provider: { farebox },
  });
}
