import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../lib/id.ts';
import { fileId, parseFileId } from './file-id.ts';

test('a file id is file_ and the UUID without dashes, and leads back to it', () => {
  const uuid = '0190f5e2-7c1b-7d3a-9e4f-0123456789ab';
  assert.equal(fileId(uuid), 'file_0190f5e27c1b7d3a9e4f0123456789ab');
  for (const id of [uuid, ...Array.from({ length: 100 }, newId)]) {
    assert.equal(parseFileId(fileId(id)), id);
  }
});

test('a file id is not made of anything but a UUID', () => {
  for (const text of ['', 'x', '0190F5E2-7C1B-7D3A-9E4F-0123456789AB', '../../etc/passwd']) {
    assert.throws(() => fileId(text), RangeError);
  }
});

test('nothing but the exact spelling is a file id', () => {
  const good = 'file_0190f5e27c1b7d3a9e4f0123456789ab';
  const others = [
    good.toUpperCase(),
    good.replace('file_', 'FILE_'),
    good.replace('a', 'A'),
    good.slice(1),
    `${good}0`,
    `${good}\n`,
    good.replace('01', '0-'),
    'file_',
    '',
    null,
    undefined,
    7,
    [good],
    'https://example.com/file_0190f5e27c1b7d3a9e4f0123456789ab',
  ];
  for (const other of others) assert.equal(parseFileId(other), null, String(other));
});
