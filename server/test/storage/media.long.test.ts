import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import * as bunny from 'mediabunny';
import { extensionOf } from '../../src/core/media/content-type.ts';
import { inspect, NotMedia } from '../../src/storage/inspect.ts';
import { isSameType, sniff, sniffBytes } from '../../src/core/media/sniff.ts';
import { FileDamaged, type Measures } from '../../src/storage/picture.ts';
import { film, heic, image, picture, pngOf, seconds, sound } from './media-fixtures.ts';

interface Sample {
  make(): Promise<Buffer>;
  content_type: string;
  measures: Measures;
}

const text = (content: string) => async (): Promise<Buffer> => Buffer.from(content);
const screen = { ...picture, duration_seconds: seconds };
const tone = { duration_seconds: seconds };

const samples: Record<string, Sample> = {
  png: { make: () => image('png'), content_type: 'image/png', measures: picture },
  jpeg: { make: () => image('jpeg'), content_type: 'image/jpeg', measures: picture },
  webp: { make: () => image('webp'), content_type: 'image/webp', measures: picture },
  gif: { make: () => image('gif'), content_type: 'image/gif', measures: picture },
  avif: { make: () => image('avif'), content_type: 'image/avif', measures: picture },
  heic: {
    make: async () => heic(4032, 3024),
    content_type: 'image/heic',
    measures: { width: 4032, height: 3024 },
  },
  mp4: {
    make: () => film(new bunny.Mp4OutputFormat()),
    content_type: 'video/mp4',
    measures: screen,
  },
  'mp4 in fragments': {
    make: () => film(new bunny.Mp4OutputFormat({ fastStart: 'fragmented' })),
    content_type: 'video/mp4',
    measures: screen,
  },
  mov: {
    make: () => film(new bunny.MovOutputFormat()),
    content_type: 'video/quicktime',
    measures: screen,
  },
  webm: {
    make: () => film(new bunny.WebMOutputFormat()),
    content_type: 'video/webm',
    measures: screen,
  },
  'webm that was streamed': {
    make: () => film(new bunny.WebMOutputFormat({ appendOnly: true })),
    content_type: 'video/webm',
    measures: screen,
  },
  'webm that starts late': {
    make: () => film(new bunny.WebMOutputFormat(), 10),
    content_type: 'video/webm',
    measures: screen,
  },
  mkv: {
    make: () => film(new bunny.MkvOutputFormat()),
    content_type: 'video/x-matroska',
    measures: screen,
  },
  m4a: {
    make: async () => branded(await sound(new bunny.Mp4OutputFormat(), 'aac'), 'M4A '),
    content_type: 'audio/mp4',
    measures: tone,
  },
  aac: {
    make: () => sound(new bunny.AdtsOutputFormat(), 'aac'),
    content_type: 'audio/aac',
    measures: tone,
  },
  mp3: {
    make: () => sound(new bunny.Mp3OutputFormat(), 'mp3'),
    content_type: 'audio/mpeg',
    measures: tone,
  },
  'mp3 with a cover': {
    make: async () => tagged(await sound(new bunny.Mp3OutputFormat(), 'mp3'), 50_000),
    content_type: 'audio/mpeg',
    measures: tone,
  },
  wav: {
    make: () => sound(new bunny.WavOutputFormat(), 'pcm-s16'),
    content_type: 'audio/wav',
    measures: tone,
  },
  ogg: {
    make: () => sound(new bunny.OggOutputFormat(), 'opus'),
    content_type: 'audio/ogg',
    measures: tone,
  },
  flac: {
    make: () => sound(new bunny.FlacOutputFormat(), 'flac'),
    content_type: 'audio/flac',
    measures: tone,
  },
  pdf: {
    make: text('%PDF-1.7\n1 0 obj\nendobj\n%%EOF\n'),
    content_type: 'application/pdf',
    measures: {},
  },
  text: { make: text('Grüße, 世界 👋\r\n\tline\n'), content_type: 'text/plain', measures: {} },
  svg: {
    make: text('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48px"></svg>'),
    content_type: 'image/svg+xml',
    measures: picture,
  },
};

let folder: string;
before(async () => void (folder = await mkdtemp(join(tmpdir(), 'farebox-media-'))));
after(() => rm(folder, { recursive: true }));

const isRefusal = (error: unknown) => error instanceof FileDamaged || error instanceof NotMedia;

async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  return path;
}

/** The measures of a file, which has to be of this type. */
async function measure(
  path: string,
  content_type: string,
  options?: { limitMs: number },
): Promise<Measures> {
  const { content_type: found, ...measures } = await inspect(path, options);
  assert.equal(found, content_type);
  return measures;
}

describe('sniff', () => {
  for (const [name, sample] of Object.entries(samples)) {
    test(`${name} is ${sample.content_type}`, async () => {
      const bytes = await sample.make();
      assert.equal(await sniff(bytes.subarray(0, sniffBytes)), sample.content_type);
    });
  }

  const markup: [string, string | null][] = [
    ['<svg/>', 'image/svg+xml'],
    ['\uFEFF \n<SVG onload=alert(1)>', 'image/svg+xml'],
    ['<?xml version="1.0"?>\n<!-- a --><!-- b --><svg xmlns="x">', 'image/svg+xml'],
    [
      '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x" [<!ENTITY a "b">]><svg>',
      'image/svg+xml',
    ],
    ['<s:svg xmlns:s="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
    ['<!-- licence --><svg>', 'image/svg+xml'],
    ['<!DOCTYPE html><p>', 'text/html'],
    ['  <!doctype HTML>', 'text/html'],
    ['<html lang="en">', 'text/html'],
    ['<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', 'text/html'],
    ['<script>alert(1)</script>', 'text/html'],
    ['<!-- x --><body onload=alert(1)>', 'text/html'],
    [`<!--${' '.repeat(6000)}--><svg onload=alert(1)>`, 'text/html'],
    ['<svgs are fine>', 'text/plain'],
    ['<bang> is no tag', 'text/plain'],
    ['a < b and <script> in the middle', 'text/plain'],
    ['{"json": true}', 'text/plain'],
    ['<?xml version="1.0"?><rss>', 'text/plain'],
    ['BM is what a bitmap begins with', 'text/plain'],
    ['PK and MZ, RIFF and ID3 are words', 'text/plain'],
  ];
  for (const [content, expected] of markup) {
    test(`${JSON.stringify(content.slice(0, 50))} is ${expected}`, async () => {
      assert.equal(await sniff(Buffer.from(content).subarray(0, sniffBytes)), expected);
    });
  }

  test('a type that is not accepted is null', async () => {
    const others = {
      empty: Buffer.alloc(0),
      zeros: Buffer.alloc(100),
      zip: Buffer.from('PK\x03\x04\x14\0\0\0\x08\0', 'latin1'),
      gzip: Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
      elf: Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(60)]),
      windows: Buffer.concat([Buffer.from('MZ\x90\0\x03', 'latin1'), Buffer.alloc(60)]),
      bitmap: Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]),
      icon: Buffer.concat([Buffer.from('\0\0\x01\0', 'latin1'), Buffer.alloc(60)]),
      latin1: Buffer.from('Gr\xfc\xdfe', 'latin1'),
      utf16: Buffer.from('\uFEFF<svg onload=x>', 'utf16le'),
      bell: Buffer.from('ring \x07'),
      escape: Buffer.from('\x1b[31mred'),
      nul: Buffer.from('a\0b'),
      overlong: Buffer.from([0x2f, 0xc0, 0xae]),
      surrogate: Buffer.from([0xed, 0xa0, 0x80]),
    };
    for (const [name, bytes] of Object.entries(others))
      assert.equal(await sniff(bytes), null, name);
  });

  test('a text cut in the middle of a character is still text', async () => {
    const head = Buffer.from('é'.repeat(3000)).subarray(0, 4099);
    assert.equal(await sniff(head), 'text/plain');
  });

  test('a GIF with a script behind its header is a GIF', async () => {
    const head = Buffer.from('GIF89a=1;/*\x01\x02*/alert(1)//');
    assert.equal(await sniff(head), 'image/gif');
  });

  test('any bytes have an answer, null or a known type', async () => {
    const files = await Promise.all(Object.values(samples).map((sample) => sample.make()));
    const start = fc.constantFrom(
      ...files,
      Buffer.alloc(0),
      Buffer.from('ID3'),
      Buffer.from('PK\x03\x04'),
    );
    const bytes = fc.tuple(start, fc.nat({ max: 200 }), fc.uint8Array({ maxLength: 300 }));
    const property = fc.asyncProperty(bytes, async ([file, length, tail]) => {
      const found = await sniff(Buffer.concat([file.subarray(0, length), tail]));
      assert.ok(found === null || extensionOf(found) !== 'bin', String(found));
    });
    await fc.assert(property, { numRuns: 300 });
  });
});

describe('agrees', () => {
  const honest: [string, string][] = [
    ['image/png', 'image/png'],
    ['IMAGE/PNG', 'image/png'],
    ['image/jpg', 'image/jpeg'],
    ['image/heif', 'image/heic'],
    ['audio/x-wav', 'audio/wav'],
    ['audio/mp3', 'audio/mpeg'],
    ['audio/x-m4a', 'audio/mp4'],
    ['image/heif', 'image/avif'],
    ['audio/mp4', 'video/mp4'],
    ['video/quicktime', 'video/mp4'],
    ['video/mp4', 'video/quicktime'],
    ['audio/webm; codecs=opus', 'video/webm'],
    ['video/webm;codecs="vp9,opus"', 'video/x-matroska'],
    ['audio/ogg; codecs=opus', 'audio/ogg'],
    ['application/ogg', 'audio/ogg'],
    ['text/plain; charset=utf-8', 'text/plain'],
    ['text/markdown', 'text/plain'],
    ['image/svg+xml', 'image/svg+xml'],
    [' application/pdf ', 'application/pdf'],
  ];
  for (const [declared, sniffed] of honest) {
    test(`${declared} is an honest name for ${sniffed}`, () => {
      assert.equal(isSameType(declared, sniffed), true);
    });
  }

  const wrong: [string, string][] = [
    ['', 'image/png'],
    ['application/octet-stream', 'image/png'],
    ['application/octet-stream', 'application/octet-stream'],
    ['*/*', 'image/png'],
    ['image/*', 'image/png'],
    ['image', 'image/png'],
    ['image/png, text/html', 'image/png'],
    ['image/png', 'image/jpeg'],
    ['text/plain', 'text/html'],
    ['text/plain', 'image/svg+xml'],
    ['image/png', 'image/svg+xml'],
    ['video/mp4', 'video/webm'],
    ['audio/mpeg', 'video/mp4'],
    ['__proto__', 'image/png'],
    ['constructor', 'constructor'],
  ];
  for (const [declared, sniffed] of wrong) {
    test(`${JSON.stringify(declared)} is no name for ${sniffed}`, () => {
      assert.equal(isSameType(declared, sniffed), false);
    });
  }
});

describe('extensionOf', () => {
  test('every type has its ending, and an unknown one is bin', () => {
    const endings = Object.values(samples).map((sample) => extensionOf(sample.content_type));
    assert.ok(endings.every((ending) => /^[a-z0-9]{3,4}$/.test(ending) && ending !== 'bin'));
    assert.equal(extensionOf('image/jpeg; q=1'), 'jpg');
    assert.equal(extensionOf('image/jpg'), 'jpg');
    for (const unknown of ['', 'application/octet-stream', 'constructor', '../x']) {
      assert.equal(extensionOf(unknown), 'bin');
    }
  });
});

describe('measure', () => {
  for (const [name, { make, content_type, measures }] of Object.entries(samples)) {
    test(`${name} has its size and duration`, async () => {
      const { duration_seconds, ...size } = await measure(await fileOf(await make()), content_type);
      assert.deepEqual(size, without(measures, 'duration_seconds'));
      // The duration is a whole number of frames.
      const expected = measures.duration_seconds ?? 0;
      const extra = (duration_seconds ?? 0) - expected;
      assert.ok(extra >= 0 && extra < 0.1, `${duration_seconds} s`);
    });
  }

  test('a rotated image is measured as it is shown', async () => {
    const turned = { width: picture.height, height: picture.width };
    assert.deepEqual(await measure(await fileOf(await image('jpeg', 6)), 'image/jpeg'), turned);
    const portrait = await fileOf(heic(4000, 3000, 3));
    assert.deepEqual(await measure(portrait, 'image/heic'), { width: 3000, height: 4000 });
  });

  test('an SVG is measured by its size in pixels, else by its viewBox, else not', async () => {
    const drawings: [string, Measures][] = [
      ['<svg viewBox="0 0 300 200">', { width: 300, height: 200 }],
      ["<?xml version='1.0'?><svg viewBox='0,0,3.5,2'/>", { width: 4, height: 2 }],
      ['<svg width="0.2" height="1073741824">', { width: 1, height: 2 ** 30 }],
      ['<svg width="100%" height="2em" viewBox="0 0 30 20">', { width: 30, height: 20 }],
      ['<svg width="10" height="5" viewBox="0 0 300 200">', { width: 10, height: 5 }],
      ['<svg>', {}],
      ['<svg width="-1" height="0">', {}],
    ];
    const endless = await fileOf(Buffer.from('<svg width="1073741825" height="1"/>'));
    await assert.rejects(measure(endless, 'image/svg+xml'), FileDamaged);
    for (const [drawing, expected] of drawings) {
      assert.deepEqual(
        await measure(await fileOf(Buffer.from(`${drawing}</svg>`)), 'image/svg+xml'),
        expected,
        drawing,
      );
    }
  });

  test('a flood of pixels is refused at once and costs no memory', async () => {
    const path = await fileOf(pngOf(65_535, 65_535));
    const memory = process.memoryUsage().rss;
    const spent = process.cpuUsage();
    await assert.rejects(measure(path, 'image/png'), FileDamaged);
    await assert.rejects(measure(await fileOf(heic(65_535, 65_535)), 'image/heic'), FileDamaged);
    await assert.rejects(measure(await fileOf(pngOf(30_000, 30_000)), 'image/png'), FileDamaged);
    const { user, system } = process.cpuUsage(spent);
    assert.ok(user + system < 2_000_000, 'microseconds of the processor');
    assert.ok(process.memoryUsage().rss - memory < 100_000_000);
  });

  test('a file that is cut short is damaged, wherever the cut is', async () => {
    const lengths: [string, number[]][] = [
      ['png', [20, 60, 700]],
      ['jpeg', [20, 300]],
      ['webp', [20, 60, 700]],
      ['gif', [8, 40]],
      ['avif', [20, 200, 800]],
      ['heic', [20, 2000]],
      ['mp4', [20, 500, 3000]],
      ['mp4 in fragments', [500, 3000]],
      ['mov', [500, 3000]],
      ['webm', [20, 3000]],
      ['mkv', [3000]],
      ['m4a', [3000]],
      ['wav', [30]],
      ['ogg', [30]],
      ['flac', [30]],
    ];
    for (const [name, cuts] of lengths) {
      const { make, content_type } = samples[name]!;
      const whole = await make();
      for (const cut of cuts) {
        assert.ok(cut < whole.length, `${name} ${cut}`);
        const path = await fileOf(whole.subarray(0, cut));
        await assert.rejects(measure(path, content_type), isRefusal, `${name} at ${cut}`);
      }
    }
  });

  test('noise after a valid beginning is damaged or has a size, and nothing else', async () => {
    for (const [name, { make, content_type }] of Object.entries(samples)) {
      if (/^(pdf|svg)$/.test(name)) continue;
      const bytes = Buffer.concat([(await make()).subarray(0, 40), randomBytes(5000)]);
      const path = await fileOf(bytes);
      const found = await measure(path, content_type, { limitMs: 500 }).catch(
        (error: unknown) => error,
      );
      assert.ok(isRefusal(found) || !(found instanceof Error), `${name}: ${found}`);
    }
  });

  test('only the bytes tell the type, whatever is called for', async () => {
    assert.equal((await inspect(await fileOf(await image('png')))).content_type, 'image/png');
    const { content_type } = await inspect(await fileOf(Buffer.from('<svgs>')));
    assert.equal(content_type, 'text/plain');
  });

  test('a playlist never makes the service read another file', async () => {
    const other = await fileOf(await samples['mp4']!.make());
    const list = join(folder, 'list');
    await writeFile(
      list,
      `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${other}\n#EXT-X-ENDLIST\n`,
    );
    assert.deepEqual(await inspect(list), { content_type: 'text/plain' });
  });

  test('a duration that no file has is damaged', async () => {
    const bytes = Buffer.from(await samples['mp4']!.make());
    bytes.writeUInt32BE(0xffffffff, bytes.indexOf('stts') + 12);
    await assert.rejects(measure(await fileOf(bytes), 'video/mp4'), /a duration of 4294967/);
  });

  test('a text is checked to its end', async () => {
    const path = (tail: Uint8Array | string): Promise<string> =>
      fileOf(Buffer.concat([Buffer.alloc(300_000, 'a'), Buffer.from(tail)]));
    assert.deepEqual(await measure(await path('é'), 'text/plain'), {});
    for (const tail of ['\0', '\x07', Buffer.from([0xc3]), Buffer.from([0xff])]) {
      await assert.rejects(measure(await path(tail), 'text/plain'), FileDamaged);
    }
  });

  test('a file that keeps the parser busy is given up in time, and the next one is measured', async () => {
    // A valid FLAC header without frames, which sends the parser into an endless loop.
    const header = (await samples['flac']!.make()).subarray(0, 42);
    const trap = join(folder, 'trap');
    await writeFile(trap, Buffer.concat([header, Buffer.alloc(5000)]));
    const began = performance.now();
    await assert.rejects(measure(trap, 'audio/flac', { limitMs: 300 }), /300 ms/);
    assert.ok(performance.now() - began < 5000);
    const next = await measure(await fileOf(await samples['mp4']!.make()), 'video/mp4');
    assert.deepEqual(next, screen);
  });

  test('a missing file is an error of the machine, not unmeasurable', async () => {
    for (const type of ['image/png', 'video/mp4', 'text/plain', 'application/pdf']) {
      await assert.rejects(measure(join(folder, 'none'), type), { code: 'ENOENT' });
    }
  });

  test('measuring leaves no file open', { skip: process.platform !== 'linux' }, async () => {
    const paths = new Map<string, string>();
    for (const name of ['png', 'gif', 'mp4', 'mp3', 'text']) {
      const path = join(folder, `open-${name}`);
      await writeFile(path, await samples[name]!.make());
      paths.set(path, samples[name]!.content_type);
    }
    const measureAll = async (): Promise<void> => {
      for (const [path, type] of paths) await measure(path, type);
    };
    await measureAll();
    const before_ = readdirSync('/proc/self/fd').length;
    for (let i = 0; i < 10; i += 1) await measureAll();
    assert.ok(readdirSync('/proc/self/fd').length <= before_ + 2);
  });
});

/** An MP4 with another brand in its first bytes, which decides its type. */
function branded(bytes: Buffer, brand: string): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(brand, 8, 'latin1');
  return copy;
}

/** Audio with a tag before it, as large as a cover image makes it. */
function tagged(bytes: Buffer, size: number): Buffer {
  const length = [21, 14, 7, 0].map((shift) => (size >> shift) & 0x7f);
  return Buffer.concat([
    Buffer.from('ID3\x04\0\0', 'latin1'),
    Buffer.from(length),
    Buffer.alloc(size),
    bytes,
  ]);
}

function without(measures: Measures, name: keyof Measures): Measures {
  return Object.fromEntries(Object.entries(measures).filter(([key]) => key !== name));
}
