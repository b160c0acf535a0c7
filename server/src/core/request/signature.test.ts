import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  sign,
  signCallback,
  signFile,
  signUpload,
  verify,
  verifyCallback,
  verifyFile,
  verifyUpload,
} from './signature.ts';

const secret = Buffer.from('a secret of thirty-two bytes, ok');
const other = Buffer.from('another secret of 32 bytes, okay');
const link = { request_id: '0190f5e2-7c1b-7d3a-9e4f-0123456789ab', index: 0, exp: 1_800_000_000 };
const query = new URLSearchParams(sign(secret, link));
const presented = {
  request_id: link.request_id as unknown,
  index: 0,
  exp: query.get('exp') as unknown,
  sig: query.get('sig') as unknown,
  now_seconds: 1_799_999_000,
};
const judge = (change: Partial<typeof presented>, secrets = [secret]) =>
  verify(secrets, { ...presented, ...change });
const signed = (exp: string, by = secret) => {
  const kid = createHash('sha256').update(by).digest('hex').slice(0, 8);
  const text = `v1\nGET\n${link.request_id}\n0\n${exp}\n${kid}`;
  return createHmac('sha256', by).update(text).digest('base64url');
};

const wrongValues = [undefined, null, '', 1_800_000_000, true, {}, [], [presented.exp], ['a', 'b']];

describe('sign', () => {
  test('signs version, method, id, index, exp and key id with HMAC-SHA256', () => {
    assert.equal(sign(secret, link), `exp=1800000000&sig=${signed('1800000000')}`);
    assert.match(sign(secret, link), /^exp=[0-9]+&sig=[A-Za-z0-9_-]{43}$/);
  });

  const impossible = [
    { request_id: 'x' },
    { request_id: `${link.request_id}\n1` },
    { index: -1 },
    { index: 0.5 },
    { exp: -1 },
    { exp: 1.5 },
    { exp: 1e12 },
    { exp: NaN },
  ];
  for (const change of impossible) {
    test(`refuses to sign ${JSON.stringify(change)}`, () => {
      assert.throws(() => sign(secret, { ...link, ...change }), RangeError);
    });
  }
});

describe('verify', () => {
  test('a link is valid up to its last second and expired after it', () => {
    assert.equal(judge({}), 'valid');
    assert.equal(judge({ now_seconds: link.exp }), 'valid');
    assert.equal(judge({ now_seconds: link.exp + 1 }), 'expired');
    assert.equal(judge({ now_seconds: 0 }), 'valid');
  });

  test('a bad signature is invalid before and after exp', () => {
    const sig = `A${String(presented.sig).slice(1)}`;
    assert.notEqual(sig, presented.sig);
    assert.equal(judge({ sig }), 'invalid');
    assert.equal(judge({ sig, now_seconds: link.exp + 1 }), 'invalid');
  });

  test('a link signed before a rotation stays good while its secret is listed', () => {
    assert.equal(judge({}, [other, secret]), 'valid');
    assert.equal(judge({ now_seconds: link.exp + 1 }, [other, secret]), 'expired');
    assert.equal(judge({}, [other]), 'invalid');
    assert.equal(judge({}, []), 'invalid');
  });

  test('a signature is good for one request, one output and one exp only', () => {
    assert.equal(judge({ request_id: link.request_id.replace('0190', '0191') }), 'invalid');
    assert.equal(judge({ index: 1 }), 'invalid');
    assert.equal(judge({ exp: '1800000001' }), 'invalid');
  });

  // Every one of these carries the true HMAC of the very text it shows.
  for (const exp of [
    '01800000000',
    '+1800000000',
    '-1',
    '1800000000.0',
    '1.8e9',
    ' 1800000000',
    '1800000000 ',
    '1800000000\n',
    '',
    '0x6b49d200',
    '1800000000000',
    '１８００００００００',
  ]) {
    test(`exp ${JSON.stringify(exp)} is invalid although its signature is right`, () => {
      assert.equal(judge({ exp, sig: signed(exp) }), 'invalid');
    });
  }

  test('twelve digits and zero are canonical', () => {
    assert.equal(judge({ exp: '999999999999', sig: signed('999999999999') }), 'valid');
    assert.equal(judge({ exp: '0', sig: signed('0') }), 'expired');
  });

  test('no other spelling of the same signature bytes is taken', () => {
    const sig = String(presented.sig);
    const bytes = Buffer.from(sig, 'base64url');
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sameBytes = [...last]
      .map((char) => sig.slice(0, -1) + char)
      .filter((text) => text !== sig && Buffer.from(text, 'base64url').equals(bytes));
    assert.equal(sameBytes.length, 3);
    const spellings = [
      ...sameBytes,
      `${sig}=`,
      `${sig}==`,
      ` ${sig}`,
      `${sig}\n`,
      `${sig}!`,
      `${sig}AA`,
      bytes.toString('base64'),
      bytes.toString('hex'),
      sig.slice(0, 20) + '\n' + sig.slice(20),
    ];
    for (const text of spellings) assert.equal(judge({ sig: text }), 'invalid', text);
  });

  for (const value of wrongValues) {
    test(`exp or sig as ${JSON.stringify(value)} is invalid`, () => {
      assert.equal(judge({ exp: value }), 'invalid');
      assert.equal(judge({ sig: value }), 'invalid');
      assert.equal(judge({ sig: [presented.sig] }), 'invalid');
    });
  }

  test('a request id or index that no link can have is invalid, not an exception', () => {
    for (const request_id of ['', 'x', null, [link.request_id], link.request_id.toUpperCase()]) {
      assert.equal(judge({ request_id }), 'invalid');
    }
    for (const index of [-1, 0.5, NaN, Infinity, 2 ** 60])
      assert.equal(judge({ index }), 'invalid');
  });

  test('20,000 random changes of one character: none is accepted', () => {
    const chars = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. ';
    const random = randomBytes(60_000);
    const accepted: string[] = [];
    for (let i = 0; i < 20_000; i++) {
      const field = (random[3 * i] as number) % 4 === 0 ? 'exp' : 'sig';
      const text = String(presented[field]);
      const at = (random[3 * i + 1] as number) % text.length;
      const char = chars.charAt((random[3 * i + 2] as number) % chars.length);
      const changed = text.slice(0, at) + char + text.slice(at + 1);
      if (changed !== text && judge({ [field]: changed }) !== 'invalid') accepted.push(changed);
    }
    assert.deepEqual(accepted, []);
    assert.equal(judge({}), 'valid');
  });
});

const id = link.request_id;
const another = id.replace('0190', '0191');
const partsOf = (query: string) => {
  const { exp, sig } = Object.fromEntries(new URLSearchParams(query));
  return { exp, sig, now_seconds: presented.now_seconds };
};

const file = { id, ...partsOf(signFile(secret, { id, exp: link.exp })) };
const upload = {
  id,
  key_id: another,
  ...partsOf(signUpload(secret, { id, key_id: another, exp: link.exp })),
};
type Change = Partial<Record<'id' | 'key_id', string>> & Partial<typeof presented>;
const kinds: [what: string, judge: (change: Change, secrets?: Buffer[]) => string][] = [
  ['a link to a file', (change, by = [secret]) => verifyFile(by, { ...file, ...change })],
  [
    'an address for an upload',
    (change, by = [secret]) => verifyUpload(by, { ...upload, ...change }),
  ],
];
for (const [what, judge] of kinds) {
  test(`${what} is good for one file, until its end, while its secret is listed`, () => {
    assert.equal(judge({}), 'valid');
    assert.equal(judge({ now_seconds: link.exp }, [other, secret]), 'valid');
    assert.equal(judge({ now_seconds: link.exp + 1 }), 'expired');
    assert.equal(judge({}, [other]), 'invalid');
    assert.equal(judge({ id: another }), 'invalid');
    assert.equal(judge({ exp: '1800000001' }), 'invalid');
    for (const value of wrongValues) {
      assert.equal(judge({ exp: value }), 'invalid');
      assert.equal(judge({ sig: value }), 'invalid');
    }
  });
}

test('an address for an upload is good for one key, which has to be an id', () => {
  assert.equal(verifyUpload([secret], { ...upload, key_id: id }), 'invalid');
  const odd = { id, key_id: `${another}\n` };
  const right = partsOf(signUpload(secret, { ...odd, exp: link.exp }));
  assert.equal(verifyUpload([secret], { ...odd, ...right }), 'invalid');
});

test('no kind of link is good for another', () => {
  assert.equal(verify([secret], { ...file, request_id: id, index: 0 }), 'invalid');
  assert.equal(verifyUpload([secret], { ...upload, sig: file.sig }), 'invalid');
  assert.equal(verifyFile([secret], { ...file, sig: presented.sig }), 'invalid');
  assert.equal(verifyFile([secret], { ...file, sig: upload.sig }), 'invalid');
});

describe('an address to call back', () => {
  const call = { upstream: 'fal', request_id: id, attempt: 1 };
  const sig = signCallback(secret, call);

  test('is good for one attempt of one request at one upstream', () => {
    assert.equal(verifyCallback([other, secret], call, sig), true);
    assert.equal(verifyCallback([other], call, sig), false);
    assert.equal(verifyCallback([secret], { ...call, upstream: 'comfyui' }, sig), false);
    assert.equal(verifyCallback([secret], { ...call, request_id: another }, sig), false);
    assert.equal(verifyCallback([secret], { ...call, attempt: 2 }, sig), false);
    for (const odd of ['', `${sig}=`, sig.slice(1), `A${sig.slice(1)}`].filter((s) => s !== sig))
      assert.equal(verifyCallback([secret], call, odd), false, odd);
  });
});
