import { randomUUID } from 'node:crypto';
import type { Rig } from '../upstreams/conformance.ts';
import {
  faultSwitch,
  outputAnswer,
  serve,
  type AcceptedJob,
  type Answer,
  type Call,
  type FakeUpstream,
} from '../upstreams/fakes/kit.ts';

/**
 * Upstreams of the two rare classes. Class A takes our key in a header and makes one job for each
 * key. Class B lets us name the job, but makes a second job of the same name if asked to.
 */

const key = 'keyed-0123456789';

async function fakeKeyed(): Promise<FakeUpstream> {
  const journal: (AcceptedJob & { looks: number })[] = [];
  const switched = faultSwitch();
  let held = false;
  const served = await serve((call) => {
    if (call.path.startsWith('/outputs/')) return outputAnswer('png', switched);
    if (call.headers.authorization !== `Bearer ${key}`) return { status: 401, json: {} };
    if (call.method === 'POST') return submit(call);
    const job = journal.find(({ id }) => call.path === `/jobs/${id}`);
    if (!job || switched.is('poll-404-always'))
      return { status: 404, json: { error: 'no such job' } };
    if (!held) job.looks++;
    return { json: view(job) };
  });

  function submit(call: Call): Answer {
    const { model, input, name } = call.json();
    const sent = call.headers['idempotency-key'];
    const idempotency_key = typeof sent === 'string' ? sent : null;
    const known = journal.find((job) => job.idempotency_key === idempotency_key);
    if (known && idempotency_key !== null) return { json: view(known) };
    const job = {
      id: typeof name === 'string' ? name : randomUUID(),
      model,
      input,
      idempotency_key,
      callback_url: null,
      cancelled: false,
      looks: 0,
    };
    journal.push(job);
    return { json: view(job) };
  }

  function view({ id, looks }: { id: string; looks: number }) {
    const done = looks > 2;
    const outputs = done ? [`${served.url}/outputs/${id}.png`] : [];
    return { id, status: done ? 'completed' : 'processing', outputs };
  }

  return {
    url: served.url,
    key,
    secret: null,
    journal,
    calls: served.calls,
    files: new Map(),
    play: switched.play,
    mend: switched.mend,
    hold: (on) => void (held = on),
    callback: () => null,
    close: served.close,
  };
}

const rig = (name: string, kind: 'A' | 'B', submit: string, more: string): Rig => ({
  name,
  adapter: 'http-job',
  class: kind,
  callsBack: false,
  open: fakeKeyed,
  catalog: `
upstream:
  name: ${name}
  adapter: http-job
  url: URL
  key_from: FAKE_KEY
  options:
    auth: bearer
    submit: { path: /jobs, body: ${submit} }
    poll: { path: "/jobs/{id}" }
    status: status
    outputs: [outputs]
    ${more}
models:
  - id: ${name}/picture
    kind: image
    task: text-to-image
    name: Picture
    price: { unit: image, usd: "0.01" }
    max: 1
    cost_usd: "0.005"
    input_schema:
      type: object
      required: [prompt]
      properties: { prompt: { type: string, minLength: 1 } }
    example: { prompt: a lighthouse }
`,
  kinds: [
    {
      model_id: `${name}/picture`,
      kind: 'image',
      input: { prompt: 'a lighthouse' },
      charge_usd_micro: 10_000n,
    },
  ],
  withFile: null,
  cannot: { 'cancel-late': 'it has no cancel' },
});

export const keyed = rig(
  'keyed',
  'A',
  '{ input: $input }',
  'id: id\n    idempotency_header: idempotency-key',
);
export const named = rig(
  'named',
  'B',
  '{ input: $input, name: $idempotency_key }',
  'id: $idempotency_key',
);
