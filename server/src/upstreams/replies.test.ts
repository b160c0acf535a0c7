import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FetchError, type FetchErrorKind } from '../lib/outbound/fetch.ts';
import {
  messageIn,
  outcomeOfFault,
  outcomeOfReply,
  reasonIn,
  retryAfterMs,
  whyOfFault,
} from './replies.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const reply = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const told = (...args: Parameters<typeof reply>): string => {
  const outcome = outcomeOfReply(reply(...args), now);
  return 'why' in outcome && outcome.why ? outcome.why : outcome.outcome;
};

const ofXai = 'Content violates usage guidelines. Team: t, API key ID: k, Model: m.';
const tooLarge =
  'Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 45000.';

describe('a reply that is no success', () => {
  const cases: [status: number, body: unknown, says: string][] = [
    [400, { error: { message: 'no' } }, 'rejected'],
    [401, {}, 'credential'],
    [402, {}, 'account'],
    [403, { error: 'no' }, 'credential'],
    [403, { detail: 'User is locked. Reason: Exhausted balance.' }, 'account'],
    [403, { error: 'Incorrect API key provided' }, 'credential'],
    [403, { error: 'Your account was flagged.' }, 'credential'],
    [403, { error: 'API key sk-1 has been disabled for violating our policies.' }, 'credential'],
    [403, { error: 'Forbidden: this account is suspended: usage policy.' }, 'credential'],
    [403, { error: `${ofXai} Failed check: SAFETY_CHECK_TYPE_BIO` }, 'rejected'],
    [403, { error: 'Failed check: SAFETY_CHECK_TYPE_CSAM' }, 'rejected'],
    [403, { error: 'Blocked by the content-filter.' }, 'rejected'],
    [403, { error: 'Your prompt is in violation of our content policies.' }, 'rejected'],
    [403, { error: 'Prompt "your account was suspended" violates a policy.' }, 'rejected'],
    [404, {}, 'model'],
    [408, {}, 'busy'],
    [413, {}, 'rejected'],
    [413, { error: { message: tooLarge, code: 'rate_limit_exceeded' } }, 'rejected'],
    [422, { detail: [{ msg: 'Field required' }] }, 'rejected'],
    [429, {}, 'busy'],
    [429, { error: { message: 'Rate limit reached on tokens per min', type: 'tokens' } }, 'busy'],
    [429, { error: { message: tooLarge, type: 'tokens' } }, 'rejected'],
    [429, { error: { message: 'Please reduce your message size.' } }, 'rejected'],
    [429, { error: { message: tooLarge, code: 'insufficient_quota' } }, 'account'],
    [429, { error: { code: 'insufficient_quota' } }, 'account'],
    [400, { error: { code: 'billing_hard_limit_reached' } }, 'account'],
    [301, {}, 'redirect'],
    [500, {}, 'unknown'],
    [502, '<html>', 'unknown'],
    [503, {}, 'busy'],
    [504, {}, 'unknown'],
    [529, {}, 'busy'],
    [100, {}, 'unknown'],
  ];
  for (const [status, body, says] of cases) {
    test(`${status} ${JSON.stringify(body)} is ${says}`, () =>
      assert.equal(told(status, body), says));
  }

  test('that repeats what a caller wrote is not taken for an empty account', () => {
    const prompt = 'insufficient credit, exhausted balance, insufficient_quota';
    assert.equal(
      told(400, { error: { message: `"${prompt}" is not allowed`, type: 'invalid' } }),
      'rejected',
    );
    assert.equal(told(422, { detail: prompt }), 'rejected');
  });
});

describe('the pause that a reply asks for', () => {
  const cases: [Record<string, string>, number | null][] = [
    [{}, null],
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': '12s' }, 12_000],
    [{ 'retry-after': '3 seconds' }, 3_000],
    [{ 'retry-after': '' }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '-1' }, 0],
    [{ 'retry-after': '500ms' }, 500],
    [{ 'retry-after': '3 hours' }, null],
    [{ 'retry-after': '2 minutes' }, 120_000],
    [{ 'retry-after': '20, 20' }, 20_000],
    [{ 'x-ms-retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  ];
  for (const [headers, ms] of cases) {
    test(`${JSON.stringify(headers)} is ${ms}`, () => {
      const asked = retryAfterMs(headers, now);
      assert.ok(
        headers['retry-after'] === '-1' ? asked === null || asked >= 0 : asked === ms,
        String(asked),
      );
    });
  }
});

test('what was never sent was not accepted; what may have been is not known', () => {
  const refused = outcomeOfFault(new FetchError('refused', 'x', { sent: false }));
  assert.deepEqual(
    [refused.outcome, 'why' in refused && refused.why],
    ['not_accepted', 'unreachable'],
  );
  assert.equal(outcomeOfFault(new FetchError('timeout', 'x', { sent: true })).outcome, 'unknown');
  assert.throws(() => outcomeOfFault(new TypeError('a bug')), TypeError);
});

describe('why a call had no reply', () => {
  const cases: [FetchErrorKind, sent: boolean, why: string][] = [
    ['dns', false, 'unreachable'],
    ['refused', false, 'unreachable'],
    ['tls', false, 'unreachable'],
    ['connect_timeout', false, 'unreachable'],
    // These may have been caused by the data that was to be sent.
    ['aborted', false, 'busy'],
    ['blocked', false, 'busy'],
    ['protocol', false, 'busy'],
    ['timeout', false, 'busy'],
    ['timeout', true, 'lost'],
    ['reset', true, 'lost'],
    ['aborted', true, 'lost'],
  ];
  for (const [kind, sent, why] of cases) {
    test(`${kind}, ${sent ? 'after bytes' : 'unsent'}: ${why}`, () =>
      assert.equal(whyOfFault(new FetchError(kind, 'x', { sent })), why));
  }
});

describe('the reason of a failed job', () => {
  const reasons: unknown[] = [
    { failure_reason: 'a' },
    { failure: 'a', failureCode: 'INTERNAL.BAD_OUTPUT' },
    { state: 'fail', failCode: '422', failMsg: 'a' },
    { task_status_msg: 'a' },
    { base_resp: { status_code: 1026, status_msg: 'a' } },
    { Response: { Error: { Code: 'FailedOperation', Message: 'a' } } },
    { ErrCode: 500, ErrMsg: 'a' },
    { error: '', error_message: 'a' },
    { raiMediaFilteredReasons: ['a'] },
    { status: 'Request Moderated', details: { 'Moderation Reasons': ['a'] } },
    { errors: { prompt: ['a'] } },
    { promptFeedback: {}, cancel_reason: 'a' },
    { error: '{"message": "a"}' },
    '{"detail": "{\\"error\\": {\\"message\\": \\"a\\"}}"}',
  ];
  for (const value of reasons)
    test(JSON.stringify(value), () => assert.equal(reasonIn(value), 'a'));

  test('is not what stands beside it', () => {
    for (const value of [
      { code: 7 },
      { status: 'FAILED', prompt: 'a' },
      {},
      null,
      '{}',
      '{"code":7}',
    ])
      assert.equal(reasonIn(value), null, JSON.stringify(value));
  });
});

test('the words of an error are found in the usual shapes, and are short', () => {
  assert.equal(messageIn({ error: { message: 'a' } }), 'a');
  assert.equal(messageIn({ detail: [{ msg: 'a' }, { msg: 'b' }] }), 'a; b');
  assert.equal(messageIn({ error: 'a' }), 'a');
  assert.equal(messageIn('a'), 'a');
  assert.equal(messageIn({ other: 'a' }), null);
  assert.equal(messageIn({ message: 'x'.repeat(5_000) })!.length, 500);
});
