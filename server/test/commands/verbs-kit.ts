/** The operator's verbs beside a running service. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { isLong } from '../kit/long.ts';
import {
  assertNoPostgres,
  assertSaid,
  call,
  databaseFor,
  placeFor,
  type Place,
  type CommandResult,
  type RunningService,
} from './cli.ts';

/** The amount in micro-USD, as in JSON. */
export const cents = (usd: number) => String(Math.round(usd * 1e6));

const ofCompany = {
  FAREBOX_SECRET: 'a secret of at least thirty-two characters',
  FAREBOX_BASE_URL: 'https://models.example.com/v1',
};

export interface VerbBench {
  place: Place;
  service: RunningService;
  /** Runs a verb with --json. */
  run(...args: string[]): Promise<CommandResult>;
  /** The JSON of a verb that succeeds. */
  said(...args: string[]): Promise<Record<string, any>>;
  /** The text for people of a verb that succeeds. */
  human(...args: string[]): Promise<string>;
  /** Makes an account and returns its id. */
  account(email: string, usd?: string): Promise<string>;
  newKey(email: string, ...options: string[]): Promise<Record<string, any>>;
  /** The HTTP status of a call with the key. */
  status(key: string): Promise<number>;
}

/**
 * The service of a suite, started before its first test; after the last one its books are proved and
 * it ends. In the long form it is on the embedded database, where each command opens three more
 * connections. serve.test.ts runs a verb beside an embedded service.
 */
export function besideService(): VerbBench {
  const cleanings: (() => Promise<void>)[] = [];
  const t = { after: (clean: () => Promise<void>) => void cleanings.push(clean) };
  const place = {} as Place;
  const service = {} as RunningService;
  let postgres: number | null;
  before(async () => {
    const env = isLong ? {} : { ...(await databaseFor(t)).env, ...ofCompany };
    Object.assign(place, placeFor(t, env));
    Object.assign(service, await place.start(isLong ? ['serve', '--embedded'] : ['serve']));
    postgres = place.postgresPid();
  });
  const run = (...args: string[]) => place.run([...args, '--json']);
  const said = async (...args: string[]) => {
    const ran = await run(...args);
    assert.equal(ran.code, 0, `${args.join(' ')}: ${ran.stderr}`);
    assert.equal(ran.stderr, '', args.join(' '));
    return ran.json;
  };
  const human = async (...args: string[]) => {
    const ran = await place.run(args);
    assert.equal(ran.code, 0, ran.stderr);
    assert.doesNotMatch(ran.stdout, /undefined|null|NaN|\[object|\{"/, args.join(' '));
    return ran.stdout;
  };
  const account = async (email: string, usd = '10') =>
    (await said('account', 'create', email, '--credit-usd', usd)).account_id as string;
  const newKey = (email: string, ...options: string[]) =>
    said('key', 'create', '--account', email, ...options);
  const status = async (key: string) =>
    (await call(service.base, 'GET', '/v1/requests', key)).status;
  after(async () => {
    try {
      const { json } = await run('audit');
      assert.deepEqual([json.ok, json.violations], [true, []]);
      assert.equal(place.postgresPid(), postgres, 'a verb took the database from the service');
      assert.equal((await call(service.base, 'GET', '/readyz', null)).status, 200);
      assert.deepEqual((await service.end('SIGTERM')).code, 0);
      await assertNoPostgres(place);
    } finally {
      for (const clean of cleanings) await clean();
    }
  });
  return { place, service, run, said, human, account, newKey, status };
}

export type Refusal = [args: string[], says: RegExp];

/** Asserts that each command is refused in words and changes nothing. */
export async function assertRefused(beside: VerbBench, refusals: Refusal[]): Promise<void> {
  const { account, said, run } = beside;
  await account('taken@example.com');
  await account('other@example.com');
  await said('credit', 'taken@example.com', '5', '--reference', 'used');
  const earlier = (await said('audit')).checked;
  const lane = async (part: typeof refusals) => {
    for (const [args, says] of part) {
      const ran = await run(...args);
      assertSaid(ran, says);
      assert.match(ran.json.error.message, says);
    }
  };
  await Promise.all([0, 1].map((n) => lane(refusals.filter((_, i) => i % 2 === n))));
  assert.deepEqual((await said('audit')).checked, earlier);
  const { available_usd_micro } = await said('account', 'show', 'taken@example.com');
  assert.equal(available_usd_micro, cents(15));
}
