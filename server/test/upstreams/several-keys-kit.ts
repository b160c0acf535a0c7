import { createHash } from 'node:crypto';
import { sql } from '../../src/lib/sql/sql.ts';
import type { Service } from '../kit/service.ts';
import { serve, type Answer, type Call, type ServedFake } from './fakes/kit.ts';

/** An upstream with several keys, and the database's rows about each key. */

export const keys = {
  a: 'sk-alpha-0123456789abcdef',
  b: 'sk-beta-0123456789abcdef',
  c: 'sk-gamma-0123456789abcdef',
};
export type Letter = keyof typeof keys;

export const nameOf = (letter: Letter) =>
  createHash('sha256').update(keys[letter]).digest('hex').slice(0, 8);

export interface KeyedFake extends ServedFake {
  /** The letters of the keys of all calls, in order; `?` for an unknown key. */
  shown(path?: RegExp): string;
  /** The answer to calls with this key, instead of the usual one. */
  answers: Partial<Record<Letter, (call: Call) => Answer | Promise<Answer> | null>>;
  forget(): void;
}

/** Starts the upstream. Unknown keys get 401. */
export async function serveKeyed(
  usual: (call: Call, letter: Letter) => Answer,
): Promise<KeyedFake> {
  const answers: KeyedFake['answers'] = {};
  const server = await serve(async (call) => {
    const letter = letterOf(call.headers.authorization);
    if (letter === '?') return { status: 401, json: { error: { message: 'no such key' } } };
    return (await answers[letter]?.(call)) ?? usual(call, letter);
  });
  return {
    ...server,
    answers,
    shown: (path = /^/) =>
      server.calls
        .filter((call) => path.test(call.path))
        .map(({ headers }) => letterOf(headers.authorization))
        .join(''),
    forget() {
      server.calls.length = 0;
      for (const letter of Object.keys(answers)) delete answers[letter as Letter];
    },
  };
}

function letterOf(authorization = ''): Letter | '?' {
  const key = authorization.replace('Bearer ', '');
  const letters = Object.keys(keys) as Letter[];
  return letters.find((letter) => keys[letter] === key) ?? '?';
}

export const limited = (seconds?: number) => (): Answer => ({
  status: 429,
  json: { error: { message: 'too many calls' } },
  ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
});

export const wrongKey = (): Answer => ({
  status: 401,
  json: { error: { message: 'this key was revoked' } },
});

/**
 * The pauses: `own` for the upstream, `a`, `b` … for its keys, followed by the model if there is
 * one.
 */
export async function paused({ db }: Service, upstream: string): Promise<string[]> {
  const rows = await db.run<{ name: string; model: string }>(sql`select name, model from upstreams
    where paused_until > now()`);
  const names = new Map((Object.keys(keys) as Letter[]).map((each) => [nameOf(each), each]));
  const shown = rows.map(({ name, model }) => {
    const [, key] = name.split('#');
    const who = name === upstream ? 'own' : (names.get(key!) ?? name);
    return model === '' ? who : `${who} ${model}`;
  });
  return shown.toSorted();
}

/** Ends the pauses of this key; null: those of the upstream itself. */
export async function endPause({ db }: Service, upstream: string, letter: Letter | null) {
  const name = letter === null ? upstream : `${upstream}#${nameOf(letter)}`;
  await db.run(sql`update upstreams set paused_until = now() - interval '1 s'
    where name = ${name}`);
}

/** The keys of a request's starts, with the result of each. */
export async function startsOf({ db }: Service, id: string): Promise<string[]> {
  const rows = await db.run<{ key: string | null; outcome: string | null }>(sql`
    select key, outcome from attempts where request_id = ${id} order by attempt`);
  const names = new Map((Object.keys(keys) as Letter[]).map((each) => [nameOf(each), each]));
  return rows.map(({ key, outcome }) => `${key && names.get(key)} ${outcome}`);
}

/** Names of the keys that a text contains; no text may contain one. */
export function told(text: string): string[] {
  return (Object.keys(keys) as Letter[]).filter((letter) => text.includes(keys[letter]));
}
