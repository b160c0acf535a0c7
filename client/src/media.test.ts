import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { LocalFile, file, withUploads, type Media } from './media.ts';

async function replaced(input: Record<string, unknown>) {
  const sources: Media[] = [];
  let open = 0;
  let most = 0;
  const output = await withUploads(input, async (source) => {
    most = Math.max(most, ++open);
    sources.push(source);
    const id = `file_${sources.length}`;
    await Promise.resolve();
    open--;
    return id;
  });
  return { output, sources, most };
}

test('an input without media is handed on as it is', async () => {
  const input = { prompt: './cat.png', when: new Date(0), list: [null, { a: 1 }] };
  const { output, sources } = await replaced(input);
  assert.equal(output, input);
  assert.equal(sources.length, 0);
});

test('media of every kind are found at any depth, and what is beside them stays', async () => {
  const blob = new Blob(['a']);
  const when = new Date(0);
  const input = {
    blob,
    deep: [{ bytes: new Uint8Array(1) }, [file('a.png')], new ArrayBuffer(1)],
    stream: blob.stream(),
    beside: { when, nothing: null, text: 'x' },
  };
  const { output, sources } = await replaced(input);
  assert.equal(sources.length, 5);
  const ids = JSON.stringify(output).match(/file_\d/g)!;
  assert.equal(new Set(ids).size, 5);
  assert.deepEqual(output.beside, { when, nothing: null, text: 'x' });
  assert.equal(input.blob, blob);
});

test('the same file goes once, a few go at a time', async () => {
  const blob = new Blob(['a']);
  const many = Array.from({ length: 12 }, (_, i) => new Uint8Array(i));
  const { output, sources, most } = await replaced({
    same: [blob, blob, file('a.png'), file('a.png'), new LocalFile('b.png')],
    many,
  });
  assert.equal(sources.length, 3 + many.length);
  assert.equal(most, 4);
  const [a, b, c, d] = output.same as string[];
  assert.deepEqual([a, c], [b, d]);
});

test('a stream of texts or Blobs is refused in a browser too, and nothing is sent', () => {
  const program = `
    Object.defineProperty(process, 'versions', { value: {} });
    const { upload } = await import(${JSON.stringify(new URL('./media.ts', import.meta.url).href)});
    const transport = { json: () => console.log('sent') };
    for (const chunk of ['hello', new Blob(['xyz'])])
      await upload(transport, ReadableStream.from([chunk])).catch(({ code }) => console.log(code));
  `;
  const args = ['--input-type=module', '-e', program];
  const shown = execFileSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(shown, 'bad_argument\nbad_argument\n');
});
