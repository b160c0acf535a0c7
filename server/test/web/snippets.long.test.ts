import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { Farebox } from '../../../client/src/index.ts';
import {
  snippet,
  snippetLanguages,
  type SnippetCall,
  type SnippetLanguage,
} from '../../../web/src/components/snippets/snippets.ts';
import { missing, openWorld, type World } from '../examples/example-kit.ts';

/** Runs the code that the pages offer for a call, unchanged. */

const fare = new URL('../../../client/dist/cli/main.js', import.meta.url).pathname;

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.stop());

const input = { prompt: "a cat's $tail, \\n and `so`", resolution: '1k', seed: 7 };
const messages = [{ role: 'user', content: "It's $5, isn't it?" }];
const shown = (): Record<string, SnippetCall> => {
  const base_url = `${world.service.base}/v1`;
  return {
    'a picture': { base_url, kind: 'image', model_id: 'sandbox/canvas/text-to-image', input },
    'a chat': {
      base_url,
      kind: 'text',
      model_id: 'sandbox/chat',
      input: { messages, max_tokens: 50 },
    },
  };
};

const shell = (code: string) =>
  world.run('sh', ['-c', `fare() { "${process.execPath}" "${fare}" "$@"; }\n${code}`], {
    XDG_STATE_HOME: world.dir,
    XDG_CONFIG_HOME: world.dir,
  });

/** Runs code of each language and returns its output. */
const runs: Record<SnippetLanguage, (code: string) => Promise<string>> = {
  curl: async (code) => (await shell(code)).stdout,
  async fare(code) {
    const { code: exit, stdout, stderr } = await shell(code);
    assert.equal(exit, 0, stderr);
    return stdout;
  },
  async javascript(code) {
    const printed: unknown[] = [];
    const body = code.replace(/^import .*/m, '');
    const program = new Function('Farebox', 'console', `return (async () => {${body}})();`);
    Object.assign(process.env, { FAREBOX_API_KEY: world.account.key });
    await program(Farebox, { log: (...what: unknown[]) => void printed.push(...what) });
    return JSON.stringify(printed);
  },
  async python(code) {
    const { code: exit, stdout, stderr } = await world.run('python3', ['-c', code]);
    assert.equal(exit, 0, stderr);
    return stdout;
  },
};

for (const language of snippetLanguages) {
  const skip = language === 'python' && missing('python3', '-c', 'import requests');
  describe(`the code in ${language}`, { skip }, () => {
    for (const what of ['a picture', 'a chat']) {
      test(`makes ${what} of the very words`, async () => {
        const call = shown()[what]!;
        const said = await runs[language](snippet(language, call));
        assert.ok(said.trim().length > 0);
        const { key } = world.account;
        const { data } = (await world.service.call('GET', '/v1/requests?limit=1', { key })).body;
        const { model_id, request_id } = data[0];
        assert.equal(model_id, call.model_id);
        if (what === 'a chat') return;
        const { body } = await world.service.call('GET', `/v1/requests/${request_id}`, { key });
        assert.deepEqual(body.input, input);
      });
    }
  });
}
