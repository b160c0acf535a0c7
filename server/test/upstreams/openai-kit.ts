import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { createOpenai } from '../../src/upstreams/openai/openai.ts';
import type {
  ChatCall,
  InputFile,
  StartJob,
  Upstream,
  UpstreamTools,
} from '../../src/upstreams/upstream.ts';
import { media } from './fakes/kit.ts';
import { fileOf, jobOf as jobFor } from './job-kit.ts';
import { fakeOpenai, type FakeOpenai } from './fakes/openai.ts';
import type { Service } from './fakes/openai-media.ts';

/** The adapter with its fake, without the service. */
export interface Stand {
  fake: FakeOpenai;
  upstream: Upstream;
  tools: UpstreamTools;
  /** The same server with other options, key or secret. */
  other(
    options: Record<string, unknown>,
    more?: { key?: string | null; secret?: string },
  ): Upstream;
  /** Addresses from callers that were fetched. */
  downloads: string[];
  close(): Promise<void>;
}

export const nowMs = Date.parse('2026-11-20T12:00:00Z');

export async function openStand(
  options: Record<string, unknown> = {},
  service: Service = 'openai',
): Promise<Stand> {
  const fake = await fakeOpenai(service);
  const fetch = createFetch({ guard: false });
  const downloads: string[] = [];
  const download = async (url: string): Promise<InputFile> => {
    downloads.push(url);
    return fileOf(media.png);
  };
  const tools: UpstreamTools = { fetch, guarded: fetch, download, now: () => nowMs };
  const base = { name: 'fake', url: fake.url, concurrency: 10 };
  const other: Stand['other'] = (changed, { key = fake.key, secret = fake.secret } = {}) =>
    createOpenai({ ...base, key, secret: secret ?? null, options: changed }, tools);
  return {
    fake,
    upstream: other(options),
    tools,
    other,
    downloads,
    async close() {
      await fetch.close();
      await fake.close();
    },
  };
}

export const jobOf = (more: Partial<StartJob> = {}): StartJob =>
  jobFor({ model: 'dall-e-fake', input: { prompt: 'a harbour' }, ...more });

export function callOf(
  stream: boolean,
  body: Record<string, unknown> = {},
  signal = new AbortController().signal,
): ChatCall {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const full = { messages, max_tokens: 50, ...body };
  const { conversation, max_tokens } = readCompletionsCall({ model: 'gpt-fake', ...full });
  return {
    request_id: 'r1',
    model: 'gpt-fake',
    conversation,
    max_tokens: max_tokens!,
    cacheControl: true,
    context_tokens: 8192,
    stream,
    hold: () => {},
    inShare: (work) => work(),
    signal,
  };
}

/** Rows at the upstream `open` that take pictures; those of the edit are converted to PNG. */
export const pictureRows = `
  - id: open/edit
    upstream: open
    kind: image
    task: edit
    name: Edit
    price: { unit: request, usd: "0.01" }
    cost_usd: "0.004"
    upstream_model: gpt-image-fake
    input_types: [png]
    input_schema: { type: object, properties: { prompt: { type: string }, image_url: { type: string } } }
    example: { prompt: a }
  - id: open/chat
    upstream: open
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "0.1", output_usd: "0.1" }
    cost_input_usd: "0.1"
    cost_output_usd: "0.1"
    upstream_model: gpt-fake
    context_tokens: 1000000
    max_output_tokens: 8192
    input_modalities: [text, image]
    input_schema: { type: object, properties: { messages: { type: array } }, required: [messages] }
    example: { messages: [{ role: user, content: hello }] }
`;
