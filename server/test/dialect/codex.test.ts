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

/** The real Codex with the settings of docs/clients.md. It is too large for every checkout. */

const codex = process.env.FAREBOX_TEST_CODEX;
const skip = codex ? false : 'FAREBOX_TEST_CODEX names no program';

describe('Codex', { skip }, () => {
  let stage: Stage;
  let dir: string;
  before(async () => {
    stage = await openStage();
    dir = mkdtempSync(join(tmpdir(), 'farebox-codex-'));
    writeFileSync(join(dir, 'note.txt'), 'The harbour opens at six.\n');
    writeFileSync(join(dir, 'config.toml'), settings(stage.service.base));
  });
  after(async () => {
    rmSync(dir, { recursive: true });
    await stage.close();
  });

  test('reads a file by its tool and answers', async () => {
    const called = {
      id: 'call_1',
      type: 'function',
      function: { name: 'exec_command', arguments: JSON.stringify({ cmd: 'cat note.txt' }) },
    };
    const thought = { type: 'reasoning.text', text: 'Look.', signature: 'c2ln', index: 0 };
    stage.fake.chat.script(
      streamOf(
        eventsOf([
          chunkOf({ reasoning_details: [thought] }),
          chunkOf({ content: 'I read the note.' }),
          chunkOf({ tool_calls: [{ index: 0, ...called }] }),
          chunkOf({}, { usage: usual }, 'tool_calls'),
        ]),
      ),
      streamOf(eventsOf([chunkOf({ content: 'At six.' }), chunkOf({}, { usage: usual }, 'stop')])),
    );
    const sandbox = ['--sandbox', 'danger-full-access', '--skip-git-repo-check'];
    const running = promisify(execFile)(codex!, ['exec', ...sandbox, 'When does it open?'], {
      cwd: dir,
      env: { ...process.env, CODEX_HOME: dir, FAREBOX_API_KEY: stage.account.key },
      timeout: 60_000,
    });
    running.child.stdin?.end();
    const { stdout } = await running;
    assert.match(stdout, /At six\./);
    const { messages, tools } = stage.asked() as Json;
    assert.equal(stage.fake.chat.asked.length, 2);
    assert.ok(tools.every(({ type }: Json) => type === 'function' || type === 'custom'));
    const [answer, output] = messages.slice(-2);
    assert.equal(answer.content, 'I read the note.');
    assert.deepEqual(answer.reasoning_details, [thought]);
    assert.deepEqual(answer.tool_calls, [called]);
    assert.equal(output.tool_call_id, 'call_1');
    assert.match(output.content, /The harbour opens at six\./);
  });
});

function settings(base: string): string {
  return `
model = "stage/chat"
model_provider = "farebox"
web_search = "disabled"

[model_providers.farebox]
name = "Farebox"
base_url = "${base}/v1"
env_key = "FAREBOX_API_KEY"
wire_api = "responses"
`;
}
