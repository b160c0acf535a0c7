import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { formParts, readShort } from './form-stream.ts';
import { formBoundary, MultipartError, parseForm, type FormPart } from './multipart.ts';

const form = (...lines: string[]) => Buffer.from(lines.join('\r\n'), 'latin1');
const named = (name: string) => `Content-Disposition: form-data; name="${name}"`;

test('a boundary is read from the Content-Type of a form only', () => {
  const cases: [type: string, boundary: string | null][] = [
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; Boundary="a b:c"; x=1', 'a b:c'],
    ['multipart/form-data', null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; boundary=""', null],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, null],
    ['multipart/mixed; boundary=abc', null],
    ['application/json; boundary=abc', null],
    ['', null],
  ];
  for (const [type, boundary] of cases) assert.equal(formBoundary(type), boundary, type);
});

describe('a form', () => {
  test('is read into its parts, whose bytes may be anything', async () => {
    const data = new FormData();
    data.append('prompt', 'a "cat"\r\nон 7');
    data.append('empty', '');
    const bytes = Buffer.from('\r\n--b\r\n\0\xff--', 'latin1');
    data.append('image[]', new Blob([bytes], { type: 'image/png' }), 'c"at é.png');
    const sent = new Response(data);
    const boundary = formBoundary(sent.headers.get('content-type')!)!;
    const parts = parseForm(Buffer.from(await sent.arrayBuffer()), boundary);
    assert.deepEqual(
      parts.map(({ bytes: read, ...rest }) => ({ ...rest, text: read.toString('latin1') })),
      [
        {
          name: 'prompt',
          file_name: null,
          content_type: null,
          text: Buffer.from('a "cat"\r\nон 7').toString('latin1'),
        },
        { name: 'empty', file_name: null, content_type: null, text: '' },
        {
          name: 'image[]',
          file_name: 'c"at é.png',
          content_type: 'image/png',
          text: bytes.toString('latin1'),
        },
      ],
    );
  });

  test('may have a preamble, an epilogue, blanks after a boundary and unquoted names', () => {
    const body = form(
      'preamble',
      '--b \t',
      'content-disposition:form-data;name=a;filename=x',
      '',
      '1',
      '--b',
      named('a\\"b').toLowerCase(),
      'x: y',
      '',
      '2',
      '--b--',
      'epilogue --b',
    );
    const [first, second, ...more] = parseForm(body, 'b');
    assert.deepEqual([first!.name, first!.file_name, String(first!.bytes)], ['a', 'x', '1']);
    assert.deepEqual([second!.name, second!.file_name, String(second!.bytes)], ['a"b', null, '2']);
    assert.deepEqual(more, []);
    assert.deepEqual(parseForm(form('--b--'), 'b'), []);
  });

  const broken: [name: string, body: Buffer][] = [
    ['nothing', form('')],
    ['no boundary', form('hello')],
    ['another boundary', form('--c', named('a'), '', '1', '--c--')],
    ['no end', form('--b', named('a'), '', '1')],
    ['no end after the last part', form('--b', named('a'), '', '1', '--b')],
    ['words after a boundary', form('--bx', named('a'), '', '1', '--b--')],
    ['no empty line', form('--b', named('a'), '1', '--b--')],
    ['a part without a name', form('--b', 'content-type: text/plain', '', '1', '--b--')],
    ['a part with an empty name', form('--b', named(''), '', '1', '--b--')],
    [
      'a part that is an attachment',
      form('--b', 'content-disposition: x; name=a', '', '', '--b--'),
    ],
    ['too long headers', form('--b', `x: ${'y'.repeat(9_000)}`, named('a'), '', '1', '--b--')],
    [
      'too many parts',
      form(...Array.from({ length: 101 }, () => ['--b', named('a'), '', '1']).flat(), '--b--'),
    ],
  ];
  for (const [name, body] of broken)
    test(`is refused with ${name}`, () => {
      assert.throws(() => parseForm(body, 'b'), MultipartError);
    });

  test('of any bytes is read or refused, and never takes long', () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const read = verdictOf(() => parseForm(body, 'b'));
        for (const { bytes } of read ?? []) assert.ok(bytes.length < body.length);
      }),
    );
  });

  test('on its way gives the same parts, however it is cut', () =>
    fc.assert(
      fc.asyncProperty(anyBody, fc.integer({ min: 1, max: 9 }), async (body, size) => {
        const whole = verdictOf(() => parseForm(body, 'b'));
        assert.deepEqual(await partsOf(body, size), whole);
      }),
    ));

  for (const [name, body] of broken)
    test(`on its way is refused with ${name}`, async () => {
      assert.equal(await partsOf(body, 5), null);
    });
});

const piece = fc.constantFrom('--b', '--', '\r\n', '\r\n\r\n', named('a'), 'x', '"', ';', '\\');
const anyBody = fc
  .array(piece, { maxLength: 30 })
  .map((pieces) => Buffer.from(pieces.join(''), 'latin1'));

/** The parts; null if the form is refused. */
function verdictOf(read: () => FormPart[]): FormPart[] | null {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof MultipartError, String(error));
    return null;
  }
}

async function partsOf(body: Buffer, size: number): Promise<FormPart[] | null> {
  const parts: FormPart[] = [];
  try {
    for await (const part of formParts(cut(body, size), 'b'))
      parts.push({ ...part, bytes: await readShort(part.bytes, 1_000, () => new Error('long')) });
    return parts;
  } catch (error) {
    assert.ok(error instanceof MultipartError, String(error));
    return null;
  }
}

async function* cut(body: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}
