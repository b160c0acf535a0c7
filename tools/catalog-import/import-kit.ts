/** The tool as an operator runs it, on a catalog of its own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { assertSaid, ranOf, type Place } from '../../server/test/commands/cli.ts';

const tool = path.join(import.meta.dirname, 'main.ts');

export function imported({ env }: Place, args: string[], own: Record<string, string> = {}) {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  return ranOf(spawn(process.execPath, [tool, ...args], { env: { ...env, ...own }, stdio }));
}

/** The folder passes the check with this text added. */
export async function passes(place: Place, yaml: string, name = 'imported.yaml'): Promise<void> {
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, name), yaml);
  const ran = await place.run(['catalog', 'check']);
  assert.equal(ran.code, 0, ran.stdout);
}

type WrongCall = [args: string, says: RegExp, env?: Record<string, string>];

/** Each call is refused in words, with exit code 2. */
export async function assertWrong(place: Place, calls: WrongCall[]): Promise<void> {
  for (const [args, says, env] of calls)
    assertSaid(await imported(place, args.split(' '), env), says);
}
