import type { Rig } from '../conformance.ts';
import { fakeKie } from '../fakes/kie.ts';
import { setFront, type AcceptedJob, type FakeUpstream } from '../fakes/kit.ts';
import { rig as kie } from './kie.ts';

/** Kie.ai with one job for each idempotency key: class A, which no shipped upstream has. */
export const rig: Rig = {
  ...kie,
  name: 'idempotent',
  class: 'A',
  callsBack: false,
  open: fakeIdempotent,
  catalog: kie.catalog
    .replace('name: kie', 'name: idempotent')
    .replace('options:', 'options:\n    idempotency_header: Idempotency-Key'),
};

async function fakeIdempotent(): Promise<FakeUpstream> {
  const fake = await fakeKie();
  const made = new Map<unknown, AcceptedJob>();
  setFront(fake.url, async (call, answer) => {
    if (call.path !== '/api/v1/jobs/createTask') return answer();
    const key = call.headers['idempotency-key'];
    const job = made.get(key);
    if (job) return { json: { code: 200, msg: 'success', data: { taskId: job.id } } };
    const count = fake.journal.length;
    const reply = await answer();
    if (fake.journal.length > count) made.set(key, fake.journal.at(-1)!);
    // Starts are repeated, so with a connection that always breaks they would never end.
    else if (reply.cutAfter === 0) fake.mend();
    return reply;
  });
  return fake;
}
