import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errors, type ErrorCode } from '../../src/core/errors.ts';
import { assertRefused } from '../kit/refusal.ts';
import type { Reply } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { inputScenarios } from './error-scenarios-input.ts';
import { stateScenarios } from './error-scenarios-state.ts';
import { createWorld, type Scenario, type World } from './error-world.ts';

/**
 * Each code of the catalogue, as a caller meets it: its status, its shape, its facts, and that it
 * costs nothing.
 */

const scenarios: Record<ErrorCode, Scenario[]> = { ...inputScenarios, ...stateScenarios };
let world: World;
const { service } = withService({ env: { FAREBOX_UPLOAD_MAX_BYTES: '100' } });
before(async () => void (world = await createWorld(service)));

const answered = new Map<string, Reply>();

describe('every code of the catalogue', () => {
  test('has its scenario', () => {
    assert.deepEqual(Object.keys(scenarios).sort(), Object.keys(errors).sort());
  });

  for (const [code, list] of Object.entries(scenarios)) {
    for (const scenario of list) {
      test(`${code}: ${scenario.name}`, async () => {
        const earlier = await traces(service);
        const reply = await scenario.call(world);
        answered.set(scenario.name, reply);
        const error = assertRefused(reply, code as ErrorCode, {
          ...(scenario.status && { status: scenario.status }),
        });
        if (scenario.param !== undefined) assert.equal(error.param, scenario.param);
        if (scenario.message) assert.match(error.message, scenario.message);
        const { details } = scenario;
        if (details)
          assert.deepEqual(error.details, typeof details === 'function' ? details() : details);
        for (const [name, value] of Object.entries(scenario.headers ?? {})) {
          assert.equal(reply.headers.get(name), value, name);
        }
        assertFree(earlier, await traces(service), scenario);
      });
    }
  }
});

type Traces = Awaited<ReturnType<typeof traces>>;

function assertFree(earlier: Traces, now: Traces, { leaves }: Scenario): void {
  for (const field of ['reserved', 'charged', 'open_jobs', 'open_requests']) {
    assert.equal(now[field], earlier[field], field);
  }
  if (leaves === undefined) assert.deepEqual(now, earlier);
}

describe('an internal error', () => {
  test('has its cause in the log, under the id that the caller got', () => {
    const { body } = answered.get('a submit that the database refuses')!;
    const line = service.log
      .map((text) => JSON.parse(text))
      .find(({ call_id }) => call_id === body.error.request_id);
    assert.equal(line?.code, 'internal_error');
    assert.match(JSON.stringify(line.err), /violates check constraint/);
  });

  test('has no text of the caller in the log', () => {
    const lines = service.log.join('');
    for (const text of ['the hidden prompt', 'hidden-key', world.rich.key, 'a cat', 'whsec_']) {
      assert.ok(!lines.includes(text), `the log holds "${text}"`);
    }
  });

  test("shows no caller the upstream's text about itself", () => {
    for (const { name } of scenarios.submit_failed) {
      const { text } = answered.get(name)!;
      assert.doesNotMatch(text, /ECONNRESET|10\.0\.0\.7|secret of the upstream/);
    }
  });
});

test('the metrics token opens the metrics', async () => {
  const headers = { authorization: 'Bearer the token' };
  const reply = await service.call('GET', '/metrics', { base: world.strict.base, headers });
  assert.equal(reply.status, 200);
  assert.match(reply.text, /^farebox_in_flight_calls /m);
});

test('the metrics without a token are not for callers of a proxy on this machine', async () => {
  for (const name of ['x-forwarded-for', 'forwarded']) {
    const headers = { [name]: '203.0.113.9' };
    assertRefused(await service.call('GET', '/metrics', { headers }), 'forbidden');
  }
  assert.equal((await service.call('GET', '/metrics')).status, 200);
});
