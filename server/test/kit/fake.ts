import type { Json } from '../../src/lib/json.ts';
import { completionOf, eventsOf } from '../../src/upstreams/in-process.ts';
import type {
  ChatCall,
  ChatOutcome,
  Handle,
  JobState,
  JobResult,
  StartJob,
  StartOutcome,
  Upstream,
  UpstreamClass,
} from '../../src/upstreams/upstream.ts';

/** An upstream with a journal, whose behaviour the test sets. */
export interface Fake extends Upstream {
  /** Starts that arrived, in order. */
  starts: { request_id: string; idempotency_key: string; input: Record<string, unknown> }[];
  /** Accepted jobs by idempotency key; a repeated key is one job. */
  jobs: Map<string, { request_id: string; polls: number }>;
  chats: SaidChat[];
  /** The optional fields of chats that it takes. */
  passes: ReadonlySet<string>;
  behave: Behaviour;
}

/** A chat call with its body as a chat completion. */
export interface SaidChat extends ChatCall {
  body: Json;
}

/** A reply as a chat completion or as chunks of one. */
export type SaidReply =
  | { outcome: 'reply'; reply: Json }
  | { outcome: 'stream'; chunks: AsyncIterable<Json> | Iterable<Json> }
  | Exclude<ChatOutcome, { outcome: 'reply' }>;

export interface Behaviour {
  start?: (job: StartJob, fake: Fake) => Promise<StartOutcome> | StartOutcome;
  poll?: (handle: Handle, fake: Fake) => Promise<JobState> | JobState;
  chat?: (call: SaidChat) => Promise<SaidReply> | SaidReply;
}

export const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export function images(count: number): JobResult {
  const media = Array.from({ length: count }, () => ({
    field: 'images',
    source: { bytes: tinyPng },
  }));
  return { media, fields: { seed: 7 } };
}

export function createFake(
  options: { name?: string; class?: UpstreamClass; concurrency?: number; behave?: Behaviour } = {},
): Fake {
  const fake: Fake = {
    name: options.name ?? 'fake',
    class: options.class ?? 'A',
    concurrency: options.concurrency ?? 1_000,
    starts: [],
    jobs: new Map(),
    chats: [],
    passes: new Set(),
    behave: options.behave ?? {},
    async start(job) {
      const { request_id, idempotency_key, input } = job;
      fake.starts.push({ request_id, idempotency_key, input });
      if (fake.behave.start) return fake.behave.start(job, fake);
      return accept(fake, job);
    },
    async poll(handle) {
      const job = fake.jobs.get(String(handle.key));
      if (job) job.polls++;
      if (fake.behave.poll) return fake.behave.poll(handle, fake);
      return { state: 'done', result: images(1) };
    },
    async chat(call) {
      const { body, ignored } = completionOf(call, fake.passes);
      const { model: _model, stream: _stream, ...sent } = body;
      const said = { ...call, body: sent };
      fake.chats.push(said);
      const outcome = await (fake.behave.chat ?? hello)(said);
      if (outcome.outcome !== 'reply' && outcome.outcome !== 'stream') return outcome;
      const chunks = outcome.outcome === 'stream' ? outcome.chunks : [outcome.reply];
      return { outcome: 'reply', reportedUsage: null, events: eventsOf(call, chunks), ignored };
    },
  };
  return fake;
}

const hello = (): SaidReply => ({
  outcome: 'reply',
  reply: completion('hello', { prompt_tokens: 5, completion_tokens: 2 }),
});

export function accept(fake: Fake, job: StartJob): StartOutcome {
  const key = job.idempotency_key;
  if (!fake.jobs.has(key)) fake.jobs.set(key, { request_id: job.request_id, polls: 0 });
  return { outcome: 'accepted', handle: { key }, poll_after_ms: 0 };
}

export function completion(
  content: string,
  usage: Record<string, unknown> | null,
): Record<string, unknown> {
  return {
    id: 'up-1',
    object: 'chat.completion',
    created: 1,
    model: 'theirs',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    ...(usage && { usage }),
  };
}
