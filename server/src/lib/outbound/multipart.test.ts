import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formBody, type SentPart } from './multipart.ts';

async function read(parts: SentPart[]) {
  const { headers, body } = formBody(parts);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  assert.equal(bytes.length, Number(headers['content-length']), 'the stated length');
  return new Response(bytes, { headers }).formData();
}

async function* inTwo(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, 1);
  yield bytes.subarray(1);
}

test('another reader of forms finds every part as it was given', async () => {
  const chunks = inTwo(Buffer.from([0, 13, 10, 45, 45, 255]));
  const form = await read([
    { name: 'type', content: 'input' },
    {
      name: 'image',
      file_name: 'ein "Bild" aus\r\nZürich.png',
      content_type: 'image/png',
      content: { size: 6, chunks },
    },
    { name: 'bytes', file_name: 'b', content: Buffer.from('é') },
  ]);
  assert.equal(form.get('type'), 'input');
  const image = form.get('image') as File;
  assert.equal(image.type, 'image/png');
  assert.deepEqual([...(await image.bytes())], [0, 13, 10, 45, 45, 255]);
  assert.equal(await (form.get('bytes') as File).text(), 'é');
});

test('nothing in a name or a type begins a line of its own', async () => {
  const { body } = formBody([
    {
      name: 'a\r\nx-evil: 1',
      file_name: 'f\r\n\r\n',
      content_type: 'image/png\r\nx: 1',
      content: '',
    },
  ]);
  const head = Buffer.concat(await Array.fromAsync(body)).toString();
  assert.equal(/^x/m.test(head), false, head);
});

test('a form may be empty of content', async () => {
  const form = await read([{ name: 'metadata', content: '' }]);
  assert.equal(form.get('metadata'), '');
});
