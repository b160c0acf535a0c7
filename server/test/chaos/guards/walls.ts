import type { Guard } from './guard.ts';

export const walls: Guard[] = [
  {
    guards: 'an address is judged where the socket connects',
    file: 'src/lib/outbound/connect.ts',
    edits: [['    if (!areFit(addresses)) throw blocked();\n', '']],
    test: 'test/lib/names.test.ts',
    name: 'the forbidden listener hears nothing',
  },
  {
    guards: 'a literal address is judged, as no name is looked up for it',
    file: 'src/lib/outbound/connect.ts',
    edits: [
      ['isIP(hostname) !== 0 && !areFit([hostname])', 'isIP(hostname) !== 0 && hostname === ""'],
    ],
    test: 'test/lib/guard.test.ts',
    name: 'is refused for a literal address of our own',
  },
  {
    guards: 'a webhook is judged again when it is sent',
    file: 'src/services.ts',
    edits: [['      guard: publicOnly,\n', '      guard: false,\n']],
    test: 'test/http/webhooks.test.ts',
    name: 'an address that is not public is not called',
  },
  {
    guards: 'an output link opens with its own signature',
    file: 'src/core/request/signature.ts',
    edits: [[`  if (!isSigned(secrets, sig, linesOf(exp))) return 'invalid';\n`, '']],
    test: 'test/http/outputs.test.ts',
    name: 'with a link that is not to the letter',
  },
  {
    guards: 'a link of no use opens nothing',
    file: 'src/http/api/stored.ts',
    edits: [[`if (verdict === 'valid') return null;`, `if (verdict !== 'expired') return null;`]],
    test: 'test/http/outputs.test.ts',
    name: 'with a link that is not to the letter',
  },
  {
    guards: 'a key opens the outputs of its own account',
    file: 'src/http/api/outputs.ts',
    edits: [['(account !== null && row.account_id !== account) || ', '']],
    test: 'test/http/outputs.test.ts',
    name: 'with the key of another account it is not there',
  },
  {
    guards: 'a key opens the files of its own account',
    file: 'src/http/api/files.ts',
    edits: [[' || (account !== null && file.account_id !== account)', '']],
    test: 'test/http/authorization.test.ts',
    name: 'lets in whom it should',
  },
  {
    guards: 'outputs are over after a day, whatever a link says',
    file: 'src/http/api/outputs.ts',
    edits: [
      [
        'row.expires_at === null || expiry(row, deps.links).getTime() <= Date.now()',
        'row.expires_at === null',
      ],
    ],
    test: 'test/http/outputs.test.ts',
    name: 'ends 24 hours after completion',
  },
  {
    guards: 'a request is its own account’s',
    file: 'src/http/api/requests.ts',
    edits: [['row === null || row.account_id !== req.caller.account_id', 'row === null']],
    test: 'test/http/authorization.test.ts',
    name: 'what belongs to another account',
  },
  {
    guards: 'a file is its own account’s',
    file: 'src/db/accounts/files.ts',
    edits: [[' and account_id = ${accountId} and expires_at > now()', ' and expires_at > now()']],
    test: 'test/http/queue.test.ts',
    name: 'of another account is refused as one that never was',
  },
  {
    guards: 'a reader that does not read cannot fill the memory',
    file: 'src/lib/sse.ts',
    edits: [['raw.writableLength > bufferMaxBytes', 'raw.writableLength > Infinity']],
    test: 'src/lib/sse.test.ts',
    name: 'a reader',
  },
  {
    guards: 'no line of the log holds a secret',
    file: 'src/lib/log.ts',
    edits: [['out.write(redact(line))', 'out.write(line)']],
    test: 'src/lib/log.test.ts',
    name: 'a secret in a line is cut out',
  },
  {
    guards: 'calls under way are bounded',
    file: 'src/http/server.ts',
    edits: [['takeShare(deps.calls, id', 'void (deps.calls, id']],
    test: 'test/http/capacity.test.ts',
    name: 'beyond the bound are refused at once',
  },
  {
    guards: 'a text that cannot be a key costs no look-up',
    file: 'src/core/account/key.ts',
    edits: [
      [
        'return text.endsWith(checksumOf(text.slice(0, checkedLength))) ? text : null;',
        'return text;',
      ],
    ],
    test: 'test/http/authorization.test.ts',
    name: 'a key that cannot be one is refused without a look-up',
  },
];
