import type { Guard } from './guard.ts';

const submit = 'src/operations/requests/admit.ts';

const minuteStart =
  "\n        started_at = case when w.started_at <= now() - interval '60 s' then now()\n          ";

export const admission: Guard[] = [
  {
    guards: 'a repeat under its Idempotency-Key is no second request',
    file: submit,
    edits: [
      [
        'const earlier = key === null ? undefined : known.get(key);',
        'const earlier = undefined as requests.Earlier | undefined;',
      ],
    ],
    test: 'test/operations/submit.test.ts',
    name: 'the same key in one batch is one request',
  },
  {
    guards: 'another body under an Idempotency-Key is a conflict',
    file: submit,
    edits: [
      [
        'row.fingerprint !== null && earlier.fingerprint.equals(row.fingerprint)',
        'row.fingerprint !== null',
      ],
    ],
    test: 'test/operations/submit.test.ts',
    name: 'the same key in one batch is one request',
  },
  {
    guards: 'a key spends up to its monthly limit',
    file: submit,
    edits: [
      [
        'spending.spent_usd_micro + row.quoted_usd_micro > limit',
        'spending.spent_usd_micro > limit',
      ],
    ],
    test: 'test/operations/limits.test.ts',
    name: 'is kept to the micro',
  },
  {
    guards: 'a key has so many open jobs',
    file: submit,
    edits: [
      [
        'open_jobs !== null && spending.open_requests >= open_jobs',
        'open_jobs !== null && spending.open_requests > open_jobs',
      ],
    ],
    test: 'test/operations/limits.test.ts',
    name: 'are as many as the key may have',
  },
  {
    guards: 'calls a minute are exact over batches',
    file: 'src/db/accounts/keys.ts',
    edits: [
      [
        'least(w.calls + excluded.asked, excluded.quota)) end,',
        'least(excluded.asked, excluded.quota)) end,',
      ],
    ],
    test: 'test/db/keys.test.ts',
    name: 'are exact however many processes count at once',
  },
  {
    guards: 'a minute of calls has sixty seconds',
    file: 'src/db/accounts/keys.ts',
    edits: [
      [
        `on conflict (key_id) do update set${minuteStart}else w.started_at end`,
        `on conflict (key_id) do update set${minuteStart}else now() end`,
      ],
    ],
    test: 'test/db/keys.test.ts',
    name: 'begin anew a minute after the first, and not before',
  },
  {
    guards: 'a call above its minute is refused',
    file: 'src/http/auth.ts',
    edits: [['if (!caller.rate.granted)', 'if (caller.rate.quota < 0)']],
    test: 'test/http/rate.test.ts',
    name: 'does not let a refused call through to its work',
  },
  {
    guards: 'a revoked key is nobody’s',
    file: 'src/db/accounts/keys.ts',
    edits: [[' on k.hash = c.hash and k.revoked_at is null', ' on k.hash = c.hash']],
    test: 'test/db/keys.test.ts',
    name: 'a revoked key is nobody',
  },
  {
    guards: 'a key whose time is over is nobody’s',
    file: 'src/db/accounts/keys.ts',
    edits: [
      ['and (k.expires_at is null or k.expires_at > now())\n      join accounts', 'join accounts'],
    ],
    test: 'test/db/keys.test.ts',
    name: 'the end of a key',
  },
  {
    guards: 'the text before a rotation is good for the overlap only',
    file: 'src/db/accounts/keys.ts',
    edits: [["when previous_until <= now() then 'replaced' end", 'end']],
    test: 'test/db/keys.test.ts',
    name: 'ends for the earlier text with its overlap',
  },
  {
    guards: 'of two rotations at once one happens',
    file: 'src/operations/accounts/key.ts',
    edits: [['if (now.last4 !== last4)', 'if (now.last4.length !== last4.length)']],
    test: 'test/db/keys.test.ts',
    name: 'of one text happens once',
  },
  {
    guards: 'a key keeps to its models',
    file: 'src/core/catalog/find-model.ts',
    edits: [['models === null || models.includes(model_id)', 'models === null || model_id']],
    test: 'test/http/key-changes.test.ts',
    name: 'is for the models of the key',
  },
  {
    guards: 'a suspended account is refused',
    file: 'src/http/auth.ts',
    edits: [['if (!caller.active)', 'if (caller.active === null)']],
    test: 'test/http/key-changes.test.ts',
    name: 'a change holds from the next call on',
  },
];
