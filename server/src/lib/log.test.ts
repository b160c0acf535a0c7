import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog, hideInLogs, redact } from './log.ts';

/** Values that must never appear in a log. */
const secrets = {
  'a key': `fbx_${'a1B2'.repeat(9)}c3`,
  'a webhook secret': `whsec_${'q83vZ0+/'.repeat(4)}=`,
  "an upstream's key": `sk-${'proj_0aZ-'.repeat(4)}`,
  "another upstream's key": `r8_${'0aZ9'.repeat(8)}`,
  'a token': `Bearer ${'abc.DEF_123'.repeat(2)}`,
  'a signature': `?exp=1&sig=${'Ab0_-'.repeat(8)}abc`,
  "a database's password": 'postgres://farebox:s3cr3t%2F@db.example.com/farebox',
};
/** Parts of them that may remain. */
const kept = /^(\?exp=1&sig=|postgres:\/\/farebox:|@db\.example\.com\/farebox)$/;

function logged(write: (log: ReturnType<typeof createLog>) => void, level = 'info'): string[] {
  const lines: string[] = [];
  write(createLog(level, { write: (line) => lines.push(line) }));
  return lines;
}

describe('a secret in a line is cut out', () => {
  for (const [what, secret] of Object.entries(secrets)) {
    test(`${what}, in words, in a field, in an error and in the cause of one`, () => {
      const cause = new Error(`told ${secret}`);
      const lines = logged((log) => {
        log.info(`before ${secret} after`);
        log.info({ url: secret, deep: [{ header: `"${secret}"` }] }, 'fields');
        log.warn({ err: new Error(`broken by ${secret}`, { cause }) }, 'error');
      });
      assert.equal(lines.length, 3);
      const said = lines.join('');
      const parts = secret.split(/(?<=sig=|farebox:)|(?=@)/).filter((part) => !kept.test(part));
      for (const part of parts) assert.equal(said.includes(part), false, part);
      assert.match(lines[0]!, /before .*\[redacted\].* after/);
      for (const line of lines) assert.doesNotThrow(() => JSON.parse(line), line);
    });
  }
});

test('what only looks a little like one is left as it is', () => {
  const lines = [
    'fbx_short and whsec_x and sk-1',
    'Key facts: the balance',
    '/v1/requests/0190a0a0-0000-7000-8000-000000000000/output/0?exp=1',
    'http://localhost:8080/v1 and a@b.example.com',
  ];
  for (const line of lines) assert.equal(redact(line), line);
});

test('an error of the database leaves out the row that it is about', () => {
  const error = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Key (email)=(ana@example.com) already exists.',
    where: 'COPY accounts, line 1: ana@example.com',
    constraint: 'accounts_email_key',
  });
  const [line] = logged((log) => log.error({ err: error }, 'a fault'));
  const { err, msg, level, time, pid } = JSON.parse(line!) as Record<string, any>;
  assert.deepEqual(
    [err.message, err.code, err.constraint],
    ['duplicate key', '23505', error.constraint],
  );
  assert.match(err.stack, /log\.test\.ts/);
  assert.equal(line!.includes('ana@'), false);
  assert.deepEqual([msg, level, pid], ['a fault', 50, process.pid]);
  assert.equal(new Date(time).toISOString(), time);
});

test('an error leaves out the objects that a library hangs on it, down to the parts of one', () => {
  const client = { user: 'farebox', host: 'db', secretKey: 7, statements: { a: 'select 1' } };
  const lost = Object.assign(new Error('terminated'), { code: '57P01', client, hosts: ['a', 'b'] });
  const [line, many] = logged((log) => {
    log.warn({ err: lost }, 'a connection was lost');
    log.warn({ err: new AggregateError([lost, lost]) }, 'none came about');
  }).map((each) => JSON.parse(each).err);
  assert.deepEqual(Object.keys(line), ['type', 'message', 'stack', 'code', 'hosts']);
  assert.deepEqual(
    many.errors.map((each: object) => Object.keys(each)),
    [Object.keys(line), Object.keys(line)],
  );
  assert.equal(JSON.stringify([line, many]).includes('select'), false);
});

test('a reason that is words only is written as one text, without its secrets', () => {
  const reason = `The upstream said no to ${secrets["an upstream's key"]}.`;
  const lines = logged((log) => {
    log.warn({ err: reason }, 'a fault');
    log.warn({ err: undefined }, 'a fault without reason');
  });
  const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(first!.err, { message: 'The upstream said no to [redacted].' });
  assert.deepEqual([second!.msg, second!.level], ['a fault without reason', 40]);
});

test('an abort is told in words, without the numbers of all that the standard names', () => {
  const [line] = logged((log) => {
    log.warn({ err: new DOMException('The step took too long.', 'TimeoutError') }, 'a fault');
  });
  const { err } = JSON.parse(line!) as { err: Record<string, string> };
  assert.deepEqual(Object.keys(err), ['type', 'message', 'stack']);
  assert.deepEqual([err.type, err.message], ['TimeoutError', 'The step took too long.']);
});

test('lines below the level are not written', () => {
  const lines = logged((log) => {
    log.info('quiet');
    log.warn('loud');
  }, 'warn');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).msg),
    ['loud'],
  );
});

test('a key in use is cut out whatever it looks like, and in whichever writing', () => {
  const key = 'my"own:key/of no form';
  const text = `it said ${key}`;
  assert.ok(redact(text).includes(key), 'nobody could know before');
  hideInLogs(key);
  const lines = logged((log) => {
    log.info({ cause: text, url: `https://a.example/?k=${encodeURIComponent(key)}` }, text);
    log.warn({ err: new Error(text) }, 'only a half: key/of no form');
  });
  assert.equal(lines.length, 2);
  for (const line of lines) {
    assert.doesNotMatch(line, /of.{1,3}no.{1,3}form/);
    assert.doesNotThrow(() => JSON.parse(line), line);
  }
});

describe('of a URL in use only what may be a key is cut out', () => {
  const [inPath, inQuery, password] = ['p4thKey'.repeat(3), 'qu3ryKey'.repeat(3), 'passw0rd'];
  const cases: [url: string, line: string, logged: string][] = [
    ['http://own.example:8545/jsonrpc', 'http://own.example:80, jsonrpc', 'as it is'],
    ['http://10.1.1.1:8545', 'Server listening at http://10.1.1.1:8080', 'as it is'],
    [`http://10.1.1.2:8545/v2/${inPath}`, 'listening at http://10.1.1.2:8080', 'as it is'],
    [`https://a.example/v2/${inPath}`, `no ${inPath}, a.example`, 'no [redacted], a.example'],
    ['https://b.example/v2/short', 'POST b.example/v2/short', 'POST [redacted]'],
    [`https://c.example/?key=${inQuery}`, `key=${inQuery}`, 'key=[redacted]'],
    [`https://me:${password}@d.example/`, `me ${password} d.example`, 'me [redacted] d.example'],
    [`smtp://me:${password}@e.example:587`, `535 me ${password}`, '535 me [redacted]'],
    [`smtp://me:${password}@e.example:587`, 'no answer of e.example', 'as it is'],
    [
      `smtps://you:${password}@e.example`,
      `bad AUTH PLAIN ${Buffer.from(`\0you\0${password}`).toString('base64')}`,
      'bad AUTH PLAIN [redacted]',
    ],
    ['smtp://f.example:587', 'tried smtp://f.example:587', 'as it is'],
    [
      'postgres://me:passw%2Frd1@g.example/a_database_with_a_name',
      'no passw/rd1 for a_database_with_a_name',
      'no [redacted] for a_database_with_a_name',
    ],
    [
      'postgres://me@i.example/farebox?password=long-enough-passw0rd&application_name=books',
      'long-enough-passw0rd of books',
      '[redacted] of books',
    ],
    ['postgres://me@%2Frun%2Fpostgresql/farebox', 'no /run/postgresql', 'as it is'],
    ['s3://AKIA4567890123456:passw%2Brd2@h.example/bucket', 'no passw+rd2', 'no [redacted]'],
    ['s3+http://AKIA4567890123457:p4ssword@h.example/b', 'AKIA4567890123457', '[redacted]'],
  ];
  for (const [url, line, wanted] of cases)
    test(`${url}: "${line}"`, () => {
      hideInLogs(url);
      assert.equal(redact(line), wanted === 'as it is' ? line : wanted);
      const whole = redact(`tried ${url}`);
      for (const key of [inPath, inQuery, password, '/short'])
        assert.ok(!whole.includes(key), whole);
    });
});
