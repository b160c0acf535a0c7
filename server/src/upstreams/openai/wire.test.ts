import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import type { UpstreamTools } from '../upstream.ts';
import { createWire } from './wire.ts';

const wire = createWire(
  { key: null, url: 'http://localhost' } as UpstreamSettings,
  { now: () => 0 } as UpstreamTools,
  '',
);

/** Errors in each place, and what they are at fault for there. */
const errors: [error: object, why: string][] = [
  [{ code: '1004', message: 'login fail: Please carry the API secret key' }, 'credential'],
  [{ type: 'authentication_error', message: 'Authentication Fails' }, 'credential'],
  [{ code: 1008, message: 'insufficient balance' }, 'account'],
  [{ code: 'Arrearage', message: 'Access denied, please make sure' }, 'account'],
  [{ code: 1002, message: 'rate limit' }, 'busy'],
  [{ code: 'slow_down', message: 'Please slow down.' }, 'busy'],
  [{ type: 'usage_limit_reached', message: 'The usage limit has been reached' }, 'busy'],
  [{ code: 2013, message: 'the proxy lost its peer' }, 'unknown'],
  [{ message: 'metadata.billing: too much' }, 'unknown'],
  [{ message: 'litellm.RateLimitError: limit reached' }, 'busy'],
  [{ message: 'prompt too long; exceeded max context length by 9 tokens' }, 'rejected'],
  [
    {
      code: 'unsupported_value',
      message: 'To stream this model, your organization must be verified',
    },
    'credential',
  ],
  [{ code: 'invalid_value', message: 'Audio needs credits on the account' }, 'unknown'],
  [{ type: 'image_too_large', message: 'Such images are not in the quota' }, 'unknown'],
  [{ code: 'unsupported_value', message: 'n must be 1' }, 'rejected'],
  [{ message: 'the model said: insufficient balance, rate limit, invalid api key' }, 'unknown'],
];

for (const [error, why] of errors)
  test(`${JSON.stringify(error)} is ${why}, by 200 and by 500`, () => {
    const body = Buffer.from(JSON.stringify({ error }));
    const outcomes = [
      wire.inBand(error, {}, 'm'),
      wire.refusal({ status: 500, headers: {}, body }, 'm'),
    ];
    for (const outcome of outcomes)
      assert.equal('why' in outcome ? outcome.why : outcome.outcome, why);
  });

test('the status in an error of a reply by 200 counts where nothing says more', () => {
  const whyOf = (error: object) => {
    const outcome = wire.inBand(error, {}, 'm');
    return 'why' in outcome ? outcome.why : outcome.outcome;
  };
  assert.equal(whyOf({ status: 429, message: 'Later.' }), 'busy');
  assert.equal(whyOf({ code: '1113', status: 500, message: 'No money.' }), 'account');
});

const ofCalls: object[] = [
  { message: 'Model model-wild is not supported with image inputs.' },
  {
    message: "The model `model-wild` is not supported when `reasoning_effort` is set to 'none'.",
  },
  { message: 'model-wild is not supported with this tool_choice', param: 'tool_choice' },
  { message: 'Model model-wild is not supported.', param: 'tool_choice' },
  { message: 'Unknown model parameter: foo' },
  { message: 'Model is not available for requests with more than 10 images' },
  { message: 'Model model-wild is not enabled for function calling.' },
  { message: 'Model model-wild is not loaded for image inputs' },
  { message: 'model-wild is not available in your request format.' },
];
for (const error of ofCalls)
  test(`${JSON.stringify(error)} does not blame the model`, () => {
    const body = Buffer.from(JSON.stringify({ error }));
    const reply = { status: 400, headers: {}, body };
    assert.equal(wire.refusal(reply, 'model-wild').outcome, 'rejected');
  });

test("an error of Amazon's has its type in a header", () => {
  const body = Buffer.from(JSON.stringify({ message: 'Something is wrong.' }));
  const whyOf = (type: string) => {
    const headers = { 'x-amzn-errortype': type };
    const outcome = wire.refusal({ status: 400, headers, body }, 'm');
    return 'why' in outcome ? outcome.why : outcome.outcome;
  };
  assert.equal(whyOf('ServiceQuotaExceededException'), 'busy');
  assert.equal(whyOf('UnrecognizedClientException:http://internal'), 'credential');
  assert.equal(whyOf('ValidationException'), 'rejected');
});

test('words that repeat an input do not blame the key of a refused call', () => {
  const body = Buffer.from(JSON.stringify({ error: { message: '"rate limit" is not allowed' } }));
  assert.equal(wire.refusal({ status: 400, headers: {}, body }, 'm').outcome, 'rejected');
});

const by403: [body: object, why: string][] = [
  [{ error_code: 'REQUEST_LIMIT_EXCEEDED', message: 'Exceeded workspace QPS limit.' }, 'busy'],
  [{ statusCode: 403, message: 'Out of call volume quota. It will be replenished.' }, 'busy'],
  [{ error: { message: 'Used up.', errors: [{ reason: 'dailyLimitExceeded' }] } }, 'busy'],
  [{ error: { message: 'You have exceeded your monthly quota.' } }, 'busy'],
  [{ error: { code: 'insufficient_quota', message: 'Pay first.' } }, 'account'],
  [{ error: { message: 'Your API key has exceeded its monthly quota.' } }, 'busy'],
  [{ error: { message: 'The API key has hit its rate limit' } }, 'busy'],
  [{ error: { message: 'Daily request quota reached for this API key' } }, 'busy'],
  [{ error: { message: 'Monthly spend limit reached for this API key' } }, 'account'],
  [{ error: { message: 'You have run out of credits for this API key' } }, 'account'],
  [{ error: { message: 'API Key 额度不足' } }, 'account'],
  [{ error: { message: 'token quota is not enough, token remain quota: $0.1' } }, 'account'],
  [{ error: { message: 'Your API key is invalid, or its quota is exhausted' } }, 'credential'],
  [{ error: { message: 'Your API key may not read quotas' } }, 'credential'],
  [
    { error: { message: 'Your API key does not have permission. IP allow list exceeded' } },
    'credential',
  ],
  [{ error: { message: 'API key limit exceeded' } }, 'account'],
  [{ error: { code: 'invalid_api_key', message: 'Your key has no quota.' } }, 'credential'],
  [{ __type: 'AccessDeniedException', message: 'Not authorized.' }, 'credential'],
];
for (const [body, why] of by403)
  test(`${JSON.stringify(body)} is ${why}, by 403`, () => {
    const bytes = Buffer.from(JSON.stringify(body));
    const outcome = wire.refusal({ status: 403, headers: {}, body: bytes }, 'm');
    assert.equal('why' in outcome && outcome.why, why);
  });
