import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { fakeOpenai, type FakeOpenai } from '../upstreams/fakes/openai.ts';
import { openSandbox } from '../upstreams/sandbox-kit.ts';

type Json = Record<string, any>;

/** The whole service with two upstreams: the sandbox, and a fake of OpenAI. */
export interface Stage {
  service: Service;
  fake: FakeOpenai;
  account: TestAccount;
  /** The body of the last call that reached the fake. */
  asked(): Json;
  close(): Promise<void>;
}

const row = (id: string, more: string) => `
  - id: ${id}
    kind: text
    task: chat
    name: Chat ${id}
    price: { unit: 1M tokens, input_usd: "0.37", output_usd: "1.91" }
    context_tokens: 100000
    max_output_tokens: 8192
    input_modalities: [text, image, file]
    ${more}`;

const catalog = (url: string) => `
upstream: { name: stage, adapter: openai, url: "${url}", key_from: STAGE_KEY }
models:${row('stage/chat', 'upstream_model: gpt-fake\n    on_disconnect: stop')}${row(
  'stage/text',
  'upstream_model: gpt-fake\n    input_modalities: [text]',
).replace('    input_modalities: [text, image, file]\n', '')}${row(
  'stage/sandbox',
  'upstreams: [{ upstream: sandbox, model: echo }]\n    on_disconnect: stop',
)}
`;

export async function openStage(): Promise<Stage> {
  const fake = await fakeOpenai();
  const opened = await openSandbox();
  const service = await startService({
    catalog: catalog(fake.url),
    upstreams: [opened.sandbox],
    env: { STAGE_KEY: fake.key, FAREBOX_TEST_PUBLIC_HOSTS: new URL(fake.url).host },
  });
  const account = await service.account();
  return {
    service,
    fake,
    account,
    asked: () => fake.chat.asked.at(-1)!,
    async close() {
      await service.audit();
      await service.stop();
      await fake.close();
      await opened.close();
    },
  };
}
