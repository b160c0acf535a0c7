import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from './config.ts';
import { systemdSocket } from './read-config.ts';

const cases: [what: string, env: NodeJS.ProcessEnv, fd: number | null][] = [
  ['no variables', {}, null],
  ['one socket', { LISTEN_PID: '71', LISTEN_FDS: '1' }, 3],
  ['one for another process', { LISTEN_PID: '70', LISTEN_FDS: '1' }, null],
  ['none', { LISTEN_PID: '71', LISTEN_FDS: '0' }, null],
];
for (const [what, env, fd] of cases)
  test(`of systemd: ${what}`, () => assert.equal(systemdSocket(env, 71)?.fd ?? null, fd));

test('several sockets of systemd are refused', () =>
  assert.throws(() => systemdSocket({ LISTEN_PID: '71', LISTEN_FDS: '2' }, 71), ConfigError));
