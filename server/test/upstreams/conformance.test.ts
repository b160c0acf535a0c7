import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { keysOf } from '../../src/lib/records.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { claim, begin } from '../kit/by-hand.ts';
import { isLong } from '../kit/long.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { age, card, moneyOf, passDeadline, rounds, rowOf } from '../worker/floor.ts';
import type { End, Rig } from './conformance.ts';
import { faults, type Fault, type FakeUpstream } from './fakes/kit.ts';

/**
 * Every adapter, in the whole service, in front of a server that stands in for its upstream: what
 * it does wrong costs no caller anything, and no job is bought twice.
 */

const rigs: Rig[] = [];
for (const file of readdirSync(join(import.meta.dirname, 'rigs')).toSorted()) {
  const { rig } = (await import(`./rigs/${file}`)) as { rig: Rig };
  rigs.push(rig);
}

/** Recovery after a crash depends only on the class and on callbacks. */
function isFirstOfClass(rig: Rig): boolean {
  const alike = (each: Rig) => each.class === rig.class && each.callsBack === rig.callsBack;
  return rigs.find(alike) === rig;
}

/**
 * In the short form each fault meets one upstream that can have it, in turn; a lost answer meets
 * all, and the others whose end depends on the class meet one of each class.
 */
function faultsFor(rig: Rig): Fault[] {
  return keysOf(faults).filter((fault, n) => {
    const able = rigs.filter(({ cannot }) => cannot[fault] === undefined);
    const isInTurn = able[n % able.length] === rig;
    const byClass = expected[fault].ends === 'by class';
    return isLong || isInTurn || fault === 'submit-lost' || (byClass && isFirstOfClass(rig));
  });
}

interface ExpectedEnd {
  ends: End | readonly End[];
  /** Jobs that the upstream accepted. */
  jobs: 0 | 1;
}

const expected: Record<Fault, ExpectedEnd> = {
  'submit-lost': { ends: 'by class', jobs: 1 },
  'submit-502-after': { ends: 'by class', jobs: 1 },
  'submit-garbage': { ends: 'by class', jobs: 1 },
  'submit-reset': { ends: 'by class', jobs: 0 },
  'submit-429': { ends: 'completed once mended', jobs: 1 },
  'submit-429-date': { ends: 'completed once mended', jobs: 1 },
  'submit-429-bare': { ends: 'completed once mended', jobs: 1 },
  'submit-503': { ends: 'completed once mended', jobs: 1 },
  'submit-account': { ends: 'completed once mended', jobs: 1 },
  'submit-credential': { ends: 'completed once mended', jobs: 1 },
  'submit-model': { ends: 'completed once mended', jobs: 1 },
  'submit-invalid': { ends: 'upstream_rejected', jobs: 0 },
  'poll-500': { ends: 'completed', jobs: 1 },
  'poll-502': { ends: 'completed', jobs: 1 },
  'poll-504': { ends: 'completed', jobs: 1 },
  'poll-429': { ends: 'completed', jobs: 1 },
  'poll-404-once': { ends: 'completed', jobs: 1 },
  'poll-404-always': { ends: 'upstream_failed', jobs: 1 },
  'poll-reset': { ends: 'completed', jobs: 1 },
  'poll-garbage': { ends: 'completed', jobs: 1 },
  'poll-unknown-word': { ends: 'completed', jobs: 1 },
  'poll-upper-case': { ends: 'completed', jobs: 1 },
  'poll-error-in-200': { ends: 'completed', jobs: 1 },
  'poll-regress': { ends: 'completed', jobs: 1 },
  'poll-at-once-done': { ends: 'completed', jobs: 1 },
  'finish-failed': { ends: 'upstream_failed', jobs: 1 },
  'finish-refused': { ends: 'upstream_rejected', jobs: 1 },
  'finish-empty': { ends: ['output_unusable', 'upstream_failed'], jobs: 1 },
  'finish-result-422': { ends: ['upstream_rejected', 'upstream_failed'], jobs: 1 },
  'finish-gone': { ends: ['upstream_failed', 'output_unusable'], jobs: 1 },
  'output-404': { ends: 'output_unusable at last', jobs: 1 },
  'output-redirect': { ends: 'output_unusable', jobs: 1 },
  'output-lies': { ends: 'output_unusable at last', jobs: 1 },
  'output-longer': { ends: 'output_unusable at last', jobs: 1 },
  'output-cut': { ends: 'completed', jobs: 1 },
  'output-data': { ends: 'completed', jobs: 1 },
  'output-several': { ends: 'completed', jobs: 1 },
  'cancel-late': { ends: 'timeout', jobs: 1 },
};

/** Enough polls for any job that ends at all. */
const looks = 8;

for (const rig of rigs) {
  describe(`${rig.name}`, () => {
    let fake: FakeUpstream;
    let service: Service;
    let account: TestAccount;
    before(async () => {
      fake = await rig.open();
      service = await start(rig, fake);
      account = await service.account({ usd: 1_000, open_jobs: 10_000 });
    });
    after(async () => {
      await service.audit();
      await service.stop();
      await fake.close();
    });
    beforeEach(async () => {
      fake.mend();
      fake.hold(false);
      await service.db.run(rawSql('delete from upstreams'));
    });

    const [first] = rig.kinds;
    const submit = async ({ model_id, input } = first!): Promise<string> => {
      const call = { key: account.key, body: input };
      const reply = await until('it is taken', async () => {
        const each = await service.call('POST', `/v1/queue/${model_id}`, call);
        // The service may see the pause of an earlier test for a moment longer.
        return each.status === 503 ? null : each;
      });
      assert.equal(reply.status, 202, reply.text);
      return reply.body.request_id;
    };
    const endOf = async (id: string): Promise<string> => {
      const { status, error } = await card(account, id);
      return error === null ? status : error.code;
    };
    const isFinal = async (id: string) => !(await rowOf(service, id)).status.startsWith('IN_');
    const settle = async (id: string, count = looks) => {
      for (let i = 0; i < count && !(await isFinal(id)); i++) await rounds(service, 1);
    };

    async function assertFree(id: string): Promise<void> {
      assert.match(await moneyOf(service, id), /^reserve (\d+), release \1$/);
    }

    describe('what it makes', () => {
      for (const kind of rig.kinds) {
        test(`${kind.model_id}: is stored, and charged as quoted, with its cost known`, async () => {
          const before = fake.journal.length;
          const id = await submit(kind);
          await settle(id);
          const shown = await card(account, id);
          assert.equal(shown.status, 'COMPLETED', JSON.stringify(shown.error));
          assert.equal(shown.charged_usd_micro, String(kind.charge_usd_micro));
          assert.equal(fake.journal.length, before + 1);
          const [url] = shown.output_urls as [string];
          const { pathname, search } = new URL(url);
          const output = await service.call('GET', pathname + search);
          assert.equal(output.status, 200);
          assert.match(output.headers.get('content-type')!, new RegExp(`^(${kind.kind}|audio)/`));
          assert.doesNotMatch(JSON.stringify(shown), new RegExp(new URL(fake.url).host));
          const [result] = await service.db.run<{ cost_usd_micro: bigint | null }>(sql`
            select cost_usd_micro from request_results where request_id = ${id}`);
          assert.ok(result!.cost_usd_micro !== null && result!.cost_usd_micro >= 0n);
          // Handles that are plain names, not those with addresses from the answer to a start.
          const handles = await service.db.run<{ handle: object | null }>(sql`
            select handle from attempts where request_id = ${id}`);
          const isPlain = rig.name !== 'openai-images';
          for (const name of handles.flatMap(({ handle }) => Object.keys(handle ?? {})))
            assert.equal(/^\w+$/.test(name), isPlain, name);
        });
      }

      test('gets whole numbers of any length as they were sent', async () => {
        const { model_id, input } = first!;
        const seed = '18446744073709551615';
        const long = `"seed":${seed},"more":{"ids":[-9007199254740993]}`;
        const raw = JSON.stringify(input).replace(/}$/, `,${long}}`);
        const headers = { 'content-type': 'application/json' };
        const call = { key: account.key, raw, headers };
        const calls = fake.calls.length;
        const reply = await service.call('POST', `/v1/queue/${model_id}`, call);
        assert.equal(reply.status, 202, reply.text);
        await settle(reply.body.request_id);
        const path = `/v1/requests/${reply.body.request_id}`;
        const shown = await account.get(path);
        assert.ok(shown.text.includes(long), shown.text);
        assert.equal(shown.body.status, 'COMPLETED');
        const sent = fake.calls.slice(calls).map(({ body }) => body.toString('latin1'));
        assert.ok(sent.some((body) => body.includes(seed)));
        assert.doesNotMatch(sent.join('\n'), /rawJSON|1844674407370955200|9007199254740992/);
      });

      test('is made of a file of the caller’s, which it gets whole', async (t) => {
        if (rig.withFile === null) return t.skip('it takes no files');
        const png = (await import('./fakes/kit.ts')).media.png;
        const upload = await account.upload(png, 'image/png');
        const input = JSON.parse(
          JSON.stringify(rig.withFile.input).replaceAll('FILE', upload.body.file_id),
        );
        const calls = fake.calls.length;
        const id = await submit({ ...first!, ...rig.withFile, input });
        await settle(id);
        assert.equal(await endOf(id), 'COMPLETED');
        const sent = fake.calls.slice(calls).map(({ body }) => body.toString('latin1'));
        const whole = [png.toString('latin1'), png.toString('base64')];
        const stored = [...fake.files.values()].some((bytes) => bytes.equals(png));
        const arrived = stored || sent.some((body) => whole.some((form) => body.includes(form)));
        assert.ok(arrived, 'the bytes came to the upstream');
        assert.ok(!sent.some((body) => body.includes(upload.body.file_id)), 'our name did not');
      });
    });

    /** A callback may still name the job of a lost answer, so the worker waits. */
    const isWaitedFor = rig.class === 'C' && rig.callsBack;

    describe('a fault', () => {
      for (const fault of faultsFor(rig)) {
        const { ends, jobs } = { ...expected[fault], ...rig.expected?.[fault] };
        const reason = rig.cannot[fault];
        if (reason !== undefined) {
          test(`${fault}: cannot be`, (t) => t.skip(reason));
          continue;
        }
        test(`${fault}: ${faults[fault]}`, async () => {
          const before = fake.journal.length;
          fake.play(fault);
          // Only a running job can be cancelled.
          fake.hold(fault === 'cancel-late');
          const id = await submit();
          const end = await endsSo(id, typeof ends === 'string' ? [ends] : ends, jobs);
          assert.equal(fake.journal.length - before, jobs === 0 && end === 'COMPLETED' ? 1 : jobs);
          if (end === 'COMPLETED') {
            const { charged_usd_micro, quoted_usd_micro } = await card(account, id);
            assert.ok(BigInt(charged_usd_micro) <= BigInt(quoted_usd_micro));
          } else await assertFree(id);
          const { error } = await card(account, id);
          const shown = JSON.stringify(error);
          assert.ok(!shown.includes(fake.key) && !shown.includes(new URL(fake.url).host), shown);
        });
      }

      async function endsSo(id: string, ends: readonly End[], jobs: number): Promise<string> {
        const [end] = ends as [End];
        if (end === 'completed once mended') {
          await rounds(service, 2);
          assert.equal(await isFinal(id), false, 'it waits');
          fake.mend();
          await service.db.run(rawSql('delete from upstreams'));
        }
        await settle(id);
        if (ends.includes('upstream_failed') && !(await isFinal(id))) {
          await age(service, id);
          await settle(id);
        }
        const isLate = end === 'timeout' || end.endsWith('at last');
        if (isLate || (end === 'by class' && isWaitedFor)) {
          assert.equal(await isFinal(id), false, 'it is not given up before its time is over');
          await passDeadline(service, id);
          await service.work();
        }
        const code = await endOf(id);
        const wanted: string[] = ends.map((each) =>
          each === 'by class'
            ? rig.class === 'C'
              ? 'outcome_unknown'
              : 'COMPLETED'
            : each.startsWith('completed')
              ? 'COMPLETED'
              : each.replace(' at last', ''),
        );
        assert.ok(wanted.includes(code), `${code}, not ${wanted.join(' or ')}; ${jobs} jobs`);
        return code;
      }
    });

    describe('a process that dies', () => {
      if (!isLong && !isFirstOfClass(rig)) return;

      test('between the intent and the call buys at most one job', async () => {
        const before = fake.journal.length;
        const id = await submit();
        const claims = await claim(service.db, rig.name, 100);
        assert.ok(
          await begin(
            service.db,
            claims.find((each) => each.id === id)!,
          ),
        );
        await settle(id);
        await endsByClass(id);
        assert.ok(fake.journal.length - before <= 1);
        assert.equal(fake.journal.length - before, (await endOf(id)) === 'COMPLETED' ? 1 : 0);
      });

      test('between the call and the handle buys no second job', async () => {
        const before = fake.journal.length;
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        if (await isFinal(id)) return; // The start's answer is the result, so there is no such moment.
        assert.equal(fake.journal.length - before, 1);
        await service.db.run(sql`update attempts set handle = null, outcome = null
          where request_id = ${id}`);
        fake.hold(false);
        await settle(id);
        await endsByClass(id);
        assert.equal(fake.journal.length - before, 1);
      });

      test('between the handle and the end goes on with the same job', async () => {
        const before = fake.journal.length;
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        // Ends the lease, so that another process takes over.
        await service.db.run(sql`update requests set attempt = attempt + 1 where id = ${id}`);
        fake.hold(false);
        await settle(id);
        assert.equal(await endOf(id), 'COMPLETED');
        assert.equal(fake.journal.length - before, 1);
      });

      async function endsByClass(id: string): Promise<void> {
        if (rig.class !== 'C') return assert.equal(await endOf(id), 'COMPLETED');
        assert.equal(await isFinal(id), !isWaitedFor, 'nothing waits that nothing can come of');
        await passDeadline(service, id);
        await service.work();
        assert.equal(await endOf(id), 'outcome_unknown');
        await assertFree(id);
      }
    });

    describe('a running job that its caller cancels', () => {
      const skip = canStop(rig) ? false : 'it cannot stop a job';
      const cancel = async (id: string) => {
        const path = `/v1/requests/${id}/cancel?running=true`;
        return (await service.call('POST', path, { key: account.key })).status;
      };

      test('stops, and is charged as the row says', { skip }, async () => {
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        assert.equal(await cancel(id), 202);
        await settle(id);
        fake.hold(false);
        await settle(id);
        const shown = await card(account, id);
        assert.deepEqual([shown.status, fake.journal.at(-1)!.cancelled], ['CANCELLED', true]);
        assert.equal(shown.charged_usd_micro, shown.quoted_usd_micro);
        assert.match(await moneyOf(service, id), /^reserve (\d+), charge \1$/);
      });

      test('is completed if it is done all the same', { skip }, async () => {
        fake.play('cancel-late');
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        assert.equal(await cancel(id), 202);
        await rounds(service, 3);
        assert.equal(fake.journal.at(-1)!.cancelled, true);
        fake.hold(false);
        await settle(id);
        assert.equal(await endOf(id), 'COMPLETED');
      });

      test('goes on if it cannot be stopped', { skip: !skip && 'it can' }, async () => {
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        assert.equal(await cancel(id), 409);
        fake.hold(false);
        await settle(id);
        assert.equal(await endOf(id), 'COMPLETED');
      });
    });

    describe('a callback', () => {
      const skip = rig.callsBack ? false : 'it does not call back';

      test('of the upstream is verified, and makes the job due', { skip }, async () => {
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        const job = fake.journal.at(-1)!;
        const told = new URL(job.callback_url!);
        assert.match(told.pathname, new RegExp(`^/v1/callbacks/${rig.name}/${id}/1/`));
        await pushed(id);
        fake.hold(false);
        const call = fake.callback(job.id)!;
        const { headers, body: raw } = call;
        const path = told.pathname + told.search;
        assert.equal((await service.call('POST', path, { headers, raw })).status, 200);
        assert.ok((await rowOf(service, id)).wakes_in! <= 0);
        assert.equal((await service.call('POST', path, { headers, raw })).status, 200, 'again');
        await settle(id);
        assert.equal(await endOf(id), 'COMPLETED');
        assert.match(await moneyOf(service, id), /^reserve \d+, charge \d+$/);
      });

      test('of somebody else, or of long ago, makes nothing due', { skip }, async () => {
        fake.hold(true);
        const id = await submit();
        await service.app.worker!.runOnce();
        const job = fake.journal.at(-1)!;
        const { pathname } = new URL(job.callback_url!);
        await pushed(id);
        const good = fake.callback(job.id)!;
        const old = fake.callback(job.id, new Date(Date.now() - 3_600_000))!;
        const forged = { ...good, body: `${good.body} ` };
        if (rig.callbacks !== 'unsigned') {
          for (const { headers, body: raw } of [old, forged]) {
            const reply = await service.call('POST', pathname, { headers, raw });
            assert.equal(reply.status, 401, reply.text);
          }
        }
        const elsewhere = `${pathname.slice(0, -4)}AAAA`;
        const { headers, body: raw } = good;
        assert.equal((await service.call('POST', elsewhere, { headers, raw })).status, 404);
        assert.ok((await rowOf(service, id)).wakes_in! > 50);
        fake.hold(false);
        await settle(id);
      });

      test('names the job whose answer was lost: it is not bought again', { skip }, async () => {
        const before = fake.journal.length;
        fake.play('submit-lost');
        const id = await submit();
        await service.app.worker!.runOnce();
        fake.mend();
        const job = fake.journal.at(-1)!;
        assert.equal(fake.journal.length, before + 1);
        const call = fake.callback(job.id)!;
        const { pathname } = new URL(job.callback_url!);
        const reply = await service.call('POST', pathname, {
          headers: call.headers,
          raw: call.body,
        });
        assert.equal(reply.status, 200, reply.text);
        await settle(id);
        assert.equal(await endOf(id), 'COMPLETED');
        assert.equal(fake.journal.length, before + 1);
      });

      /** Moves the next poll a minute away. */
      async function pushed(id: string): Promise<void> {
        await service.db.run(sql`update requests set wake_at = now() + interval '60 s'
          where id = ${id}`);
      }
    });
  });
}

function canStop({ cannot }: Rig): boolean {
  return cannot['cancel-late'] === undefined;
}

async function start(rig: Rig, fake: FakeUpstream): Promise<Service> {
  const { host } = new URL(fake.url);
  const rows = canStop(rig)
    ? rig.catalog.replace('\n    kind:', '\n    on_cancel: full\n    kind:')
    : rig.catalog;
  const catalog = rows.replaceAll('URL', fake.url).replaceAll('FAKE_', `RIG_`);
  assert.deepEqual(parseCatalogText(catalog, `rigs: ${rig.name}`).problems, []);
  return startService({
    catalog,
    env: {
      RIG_KEY: fake.key,
      ...(fake.secret !== null && { RIG_SECRET: fake.secret }),
      FAREBOX_BASE_URL: 'https://farebox.example.com/v1',
      FAREBOX_TEST_PUBLIC_HOSTS: host,
      FAREBOX_STEP_TIMEOUT_SECONDS: '5',
    },
  });
}
