import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { hashPassword, verifyPassword } from './password.ts';

test('a crowd of hashes leaves threads for files, and each still gets its own answer', async () => {
  let hashed = 0;
  const crowd = Array.from({ length: 40 }, async (_, i) => {
    const stored = await hashPassword(`password ${i % 3}`);
    hashed++;
    return verifyPassword('password 1', stored);
  });
  await readFile(import.meta.filename);
  assert.ok(hashed < 20, `the file came after ${hashed} hashes`);
  const fits = await Promise.all(crowd);
  assert.deepEqual(
    fits,
    crowd.map((_, i) => i % 3 === 1),
  );
});
