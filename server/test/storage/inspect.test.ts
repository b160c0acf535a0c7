import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { inspect, NotMedia } from '../../src/storage/inspect.ts';
import { describe as words, sniffBytes } from '../../src/core/media/sniff.ts';
import { FileDamaged } from '../../src/storage/picture.ts';
import { box, heic } from './media-fixtures.ts';

/** Files of programs other than ours and our packages are told by their bytes. */

const files = join(import.meta.dirname, '../fixtures/media');
const fileOf = (name: string) => readFile(join(files, name));
let folder: string;
before(async () => void (folder = await mkdtemp(join(tmpdir(), 'farebox-inspect-'))));
after(() => rm(folder, { recursive: true }));

async function told(bytes: Uint8Array, limitMs?: number): Promise<string> {
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  const { content_type, width, height, duration_seconds } = await inspect(
    path,
    limitMs ? { limitMs } : {},
  );
  const size = width === undefined ? [] : [`${width}x${height}`];
  const length = duration_seconds === undefined ? [] : [`${Number(duration_seconds.toFixed(2))} s`];
  return [content_type, ...size, ...length].join(' ');
}

const whole: Record<string, string> = {
  'film.mp4': 'video/mp4 64x48 2 s',
  'fragments.mp4': 'video/mp4 64x48 2 s',
  'film.mov': 'video/quicktime 64x48 2 s',
  'film.mkv': 'video/x-matroska 64x48 2 s',
  'film.webm': 'video/webm 64x48 2 s',
  'live.webm': 'video/webm 64x48 2 s',
  'rotated.mp4': 'video/mp4 48x64 2 s',
  'edited.mp4': 'video/mp4 64x48 1.45 s',
  'anamorphic.mp4': 'video/mp4 192x48 2 s',
  'indexed.mp4': 'video/mp4 64x48 2 s',
  'titled.mkv': 'video/x-matroska 64x48 2 s',
  'timecode.mov': 'video/quicktime 64x48 2 s',
  'cmyk.jpg': 'image/jpeg 96x64',
  'deep.png': 'image/png 96x64',
  'turned.avif': 'image/avif 64x96',
  'packed.bmp': 'image/bmp 32x20',
  'long-sound.mp4': 'video/mp4 64x48 1 s',
  'long-sound.webm': 'video/webm 64x48 1 s',
  'sound.mp4': 'audio/mp4 2 s',
  'sound.mov': 'audio/mp4 2 s',
  'sound.m4a': 'audio/mp4 2 s',
  'sound.webm': 'audio/webm 2.02 s',
  'sound.mkv': 'audio/x-matroska 2.02 s',
  'sound.wav': 'audio/wav 0.5 s',
  'streamed.wav': 'audio/wav 0.5 s',
  'adpcm.wav': 'audio/wav 0.51 s',
  'gsm.wav': 'audio/wav 0.5 s',
  'mp3.wav': 'audio/wav 0.64 s',
  'rf64.wav': 'audio/wav 0.5 s',
  'sound.flac': 'audio/flac 0.6 s',
  'sound.mp3': 'audio/mpeg 1.15 s',
  'bare.mp3': 'audio/mpeg 0.55 s',
  'odd.wav': 'audio/wav 0.5 s',
  'cover.m4a': 'audio/mp4 0.5 s',
  'sound.ogg': 'audio/ogg 1 s',
  'chained.ogg': 'audio/ogg 2 s',
  'flac.ogg': 'audio/ogg 0.5 s',
  'speex.ogg': 'audio/ogg 0.99 s',
  'sound.aac': 'audio/aac 1.15 s',
  'photo.png': 'image/png 96x64',
  'interlaced.png': 'image/png 96x64',
  'moving.png': 'image/png 64x48',
  'photo.jpg': 'image/jpeg 96x64',
  'progressive.jpg': 'image/jpeg 240x160',
  'turned.jpg': 'image/jpeg 64x96',
  'photo.webp': 'image/webp 96x64',
  'moving.webp': 'image/webp 64x48',
  'photo.gif': 'image/gif 96x64',
  'moving.gif': 'image/gif 64x48',
  'photo.avif': 'image/avif 96x64',
  'general.avif': 'image/avif 96x64',
  'moving.avif': 'image/avif 64x48',
  'photo.heic': 'image/heic 96x64',
  'lzw.tif': 'image/tiff 96x64',
  'turned.tif': 'image/tiff 64x96',
  'photo.bmp': 'image/bmp 32x20',
  'old.bmp': 'image/bmp 32x20',
  'page.pdf': 'application/pdf',
};

const noise = () =>
  sharp({
    create: {
      width: 320,
      height: 240,
      channels: 3,
      background: 'red',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  });

describe('inspect', () => {
  for (const [name, expected] of Object.entries(whole))
    test(`${name} is ${expected}`, async () =>
      assert.equal(await told(await fileOf(name)), expected));

  test('bytes behind the end change nothing', async () => {
    const pictures = ['photo.jpg', 'photo.png', 'photo.webp', 'moving.gif', 'photo.avif'];
    for (const name of [...pictures, 'film.mp4', 'film.mkv', 'sound.wav', 'sound.ogg']) {
      const longer = Buffer.concat([await fileOf(name), Buffer.alloc(500, 7)]);
      assert.equal(await told(longer), whole[name], name);
    }
  });

  const sounds = ['sound.mp3', 'bare.mp3', 'sound.aac', 'sound.flac', 'sound.wav', 'sound.ogg'];
  const boxed = ['sound.m4a', 'sound.mp4', 'film.mp4', 'film.mov', 'fragments.mp4', 'cover.m4a'];
  const pictures = ['photo.heic', 'photo.avif'];
  const text = (words: string, size = words.length) => Buffer.alloc(size, words, 'latin1');
  const id3 = Buffer.concat([text('TAGA song of some length'), Buffer.alloc(128 - 24)]);
  const cover = Buffer.concat([Buffer.alloc(300), Buffer.alloc(6000, 'a cover')]);
  const ape = Buffer.concat([text('APETAGEX'), Buffer.alloc(24, 1), cover, text('APETAGEX')]);
  const lyrics = text('LYRICSBEGINLYR00018a line of the song000035LYRICS200');
  /** A box that ends before its own length is over. */
  const open = (name: string) => box(name, Buffer.alloc(9000, 5)).subarray(0, 500);

  // mp3-metadata#18, music-metadata#362, xiph/flac#523, taglib/taglib#1187, Bento4, FFmpeg.
  const tails: Record<string, [names: string[], bytes: Buffer]> = {
    ID3v1: [[...sounds, ...boxed, ...pictures], id3],
    'APEv2 with a cover': [[...sounds, ...boxed, ...pictures], ape],
    'Lyrics3 and ID3v1': [[...sounds, ...boxed, ...pictures], Buffer.concat([lyrics, id3])],
    'the end of a multipart body': [
      [...sounds, ...boxed, ...pictures],
      text('\r\n--a-boundary--\r\n'),
    ],
    'a few zeros': [[...sounds, ...boxed, ...pictures], Buffer.alloc(200)],
    'many zeros': [
      ['sound.flac', 'sound.wav', 'sound.ogg', ...boxed, ...pictures],
      Buffer.alloc(9000),
    ],
    'free and uuid': [
      [...boxed, ...pictures],
      Buffer.concat([box('free', Buffer.alloc(700)), box('uuid', Buffer.alloc(300, 9))]),
    ],
    'a box that is not whole': [[...boxed, ...pictures], open('free')],
    'another one that is not whole': [[...boxed, ...pictures], open('uuid')],
  };
  for (const [what, [names, tail]] of Object.entries(tails))
    test(`${what} behind the end changes nothing`, async () => {
      for (const name of names)
        assert.equal(await told(Buffer.concat([await fileOf(name), tail])), whole[name], name);
    });

  test('zeros behind the mark of the end change nothing', async () => {
    for (const name of [
      'photo.png',
      'photo.jpg',
      'photo.gif',
      'moving.gif',
      'photo.webp',
      'film.mkv',
    ])
      assert.equal(
        await told(Buffer.concat([await fileOf(name), Buffer.alloc(9000)])),
        whole[name],
        name,
      );
  });

  test('a file whose last part is zeros is damaged', async () => {
    // Zeros are silence in a WAV and black in an unpacked BMP.
    const films = ['film.mp4', 'film.webm', 'fragments.mp4'];
    const stills = ['photo.heic', 'moving.webp', 'packed.bmp', 'page.pdf'];
    const all = ['sound.mp3', 'sound.ogg', 'chained.ogg', 'flac.ogg', 'speex.ogg'];
    for (const name of [...films, ...stills, ...all]) {
      const bytes = await fileOf(name);
      bytes.fill(0, Math.floor(bytes.length * 0.6));
      await assert.rejects(told(bytes), FileDamaged, name);
    }
    for (const name of ['bare.mp3', 'sound.aac']) {
      const bytes = Buffer.concat(Array(20).fill(await fileOf(name)));
      bytes.fill(0, Math.floor(bytes.length * 0.6));
      await assert.rejects(told(bytes), FileDamaged, name);
    }
    for (const format of ['gif', 'png'] as const) {
      const bytes = await noise().toFormat(format).toBuffer();
      bytes.fill(0, Math.floor(bytes.length * 0.8));
      await assert.rejects(told(bytes), FileDamaged, format);
    }
  });

  test('a whole file may have many zeros', async () => {
    const flat = { width: 384, height: 384, channels: 3, background: '#fff' } as const;
    const webp = await sharp({ create: flat }).webp({ quality: 100, effort: 2 }).toBuffer();
    assert.ok(webp.subarray(-320).every((byte) => byte === 0));
    assert.equal(await told(webp), 'image/webp 384x384');
    // Stores and recorders fill the last block.
    const block = Buffer.alloc(4096);
    (await fileOf('sound.aac')).copy(block);
    assert.equal(await told(block), whole['sound.aac']);
    const gif = await fileOf('photo.gif');
    const filled = Buffer.alloc(Math.ceil(gif.length / 4096) * 4096);
    gif.copy(filled, 0, 0, gif.lastIndexOf(0x3b));
    assert.equal(await told(filled), whole['photo.gif']);
  });

  test('a WAV that lost nearly all of its sound is damaged, however long its header', async () => {
    const wav = await fileOf('sound.wav');
    const data = wav.indexOf('data');
    const filler = Buffer.concat([Buffer.from('FLLR'), Buffer.alloc(4), Buffer.alloc(4040)]);
    filler.writeUInt32LE(4040, 4);
    const long = Buffer.concat([wav.subarray(0, data), filler, wav.subarray(data)]);
    assert.equal(await told(long), whole['sound.wav']);
    await assert.rejects(told(long.subarray(0, data + filler.length + 208)), FileDamaged);
  });

  test('a GIF may have zeros between its parts, or no mark of its end', async () => {
    // golang/go#38853, bitbank2/AnimatedGIF#38, image-rs/image-gif#237.
    const gif = await fileOf('moving.gif');
    const open = gif.subarray(0, gif.lastIndexOf(0x3b));
    for (const end of ['', '00', '00003b', '3b00000000'])
      assert.equal(
        await told(Buffer.concat([open, Buffer.from(end, 'hex')])),
        whole['moving.gif'],
        end,
      );
  });

  test('a HEIC may have its picture before its index, and a trailer of the camera', async () => {
    // jdeng/goheif#17, exiftool/exiftool#361, exiftool/exiftool#378.
    const junk = Buffer.from('</x:xmpmeta>\n\0\0\0\0QDIOBS\0\x08\0\0\0SEFHk\0\0\0SEFT', 'latin1');
    const early = heic(4032, 3024);
    const at = early.indexOf('meta') - 4;
    const data = early.indexOf('mdat') - 4;
    const turned = [early.subarray(0, at), early.subarray(data), early.subarray(at, data), junk];
    assert.equal(await told(Buffer.concat(turned)), 'image/heic 4032x3024');
    assert.equal(
      await told(Buffer.concat([early, box('sefd', junk), junk])),
      'image/heic 4032x3024',
    );
  });

  test('an MP3 need not state its length, nor have frames of one size', async () => {
    // DSheirer/sdrtrunk#1377, navidrome/navidrome#6047: 32 kbit/s first, then 128 kbit/s.
    const frame = (head: number[], size: number) =>
      Buffer.concat([Buffer.from(head), Buffer.alloc(size - 4, 85)]);
    const small = Array.from({ length: 4 }, () => frame([0xff, 0xfb, 0x14, 0xc4], 96));
    const large = Array.from({ length: 80 }, () => frame([0xff, 0xfb, 0x94, 0xc4], 384));
    assert.equal(await told(Buffer.concat([...small, ...large])), 'audio/mpeg 2.02 s');
    const vbri = frame([0xff, 0xfb, 0x14, 0xc4], 96);
    vbri.write('VBRI', 36);
    assert.equal(await told(Buffer.concat([vbri, ...large])), 'audio/mpeg 1.94 s');
    // agersant/mp3-duration#16: a Xing frame that states no frames.
    const none = await fileOf('sound.mp3');
    none.writeUInt32BE(0, none.indexOf(/Xing/.test(none.toString('latin1')) ? 'Xing' : 'Info') + 8);
    assert.equal(await told(none), whole['sound.mp3']);
  });

  test('a WAV may state a length of everything, or a guess', async () => {
    // kyutai-labs/pocket-tts#229, pollinations/pollinations#11457, llfbandit/record#96, cjcliffe/CubicSDR#616.
    for (const stated of [2_000_000_000, 0x7fffffff, 0x7ffff000, 0xffffffff, 4078, 4034 + 16]) {
      const wave = await fileOf('sound.wav');
      wave.writeUInt32LE(stated, wave.indexOf('data') + 4);
      assert.match(await told(wave), /^audio\/wav 0\.50?\d? s$/, `${stated}`);
    }
  });

  test('a film is one without the box of its brand, or with another box before it', async () => {
    const [old, shifted] = [await fileOf('film.mov'), await fileOf('film.mp4')];
    box('free', Buffer.alloc(12)).copy(old);
    assert.equal(await told(old), whole['film.mov']);
    const brand = Buffer.from(shifted.subarray(0, 32));
    box('free').copy(shifted);
    brand.copy(shifted, 8);
    assert.equal(await told(shifted), 'video/quicktime 64x48 2 s');
  });

  test('a PDF may have empty lines and a byte order mark before it', async () => {
    for (const before of ['\n', '\r\n\r\n', '\ufeff', '\ufeff\n'])
      assert.equal(await told(Buffer.from(`${before}%PDF-1.4\n%%EOF`)), 'application/pdf');
    assert.equal(await told(Buffer.from('a %PDF-1.4')), 'text/plain');
  });

  test('a file that is cut short is damaged, wherever the cut is', async () => {
    // A recording that states no length shows no cut; half of `chained.ogg` is a whole file.
    const others = new Set(['streamed.wav', 'chained.ogg']);
    for (const name of Object.keys(whole).filter((each) => !others.has(each))) {
      const bytes = await fileOf(name);
      for (const share of [0.5, 0.8, 0.9]) {
        const cut = told(bytes.subarray(0, bytes.length * share), 3000);
        await assert.rejects(cut, FileDamaged, `${name} at ${share}`);
      }
    }
  });

  test('a file that lost a part, in whose place are zeros, is damaged', async () => {
    const films = ['film.mp4', 'film.mov', 'film.mkv', 'film.webm', 'live.webm', 'sound.m4a'];
    const sounds = ['sound.mp3', 'chained.ogg'];
    for (const name of [...films, ...sounds]) {
      const bytes = await fileOf(name);
      bytes.fill(0, Math.floor(bytes.length * 0.4), Math.floor(bytes.length * 0.6));
      await assert.rejects(told(bytes, 3000), FileDamaged, name);
    }
  });

  test('a JPEG whose rest was filled with zeros is damaged, one with bytes behind it is not', async () => {
    for (const progressive of [false, true]) {
      const jpeg = await noise().jpeg({ progressive, quality: 100 }).toBuffer();
      const film = await fileOf('film.mp4');
      // As telephones add the film of a moving photo.
      assert.equal(await told(Buffer.concat([jpeg, film])), 'image/jpeg 320x240');
      jpeg.fill(0, Math.floor(jpeg.length * 0.7));
      await assert.rejects(told(jpeg), FileDamaged);
    }
  });

  test('a FLAC may have a tag behind it, but no broken frame', async () => {
    const tag = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125)]);
    const tagged = Buffer.concat([await fileOf('sound.flac'), tag]);
    assert.equal(await told(tagged), whole['sound.flac']);
    const [end, cut] = [await fileOf('sound.flac'), tagged.subarray(0, tagged.length - 200)];
    end.fill(0, end.length - 400, end.length - 300);
    for (const bytes of [end, cut]) await assert.rejects(told(bytes), FileDamaged);
  });

  test('a WAV may state a wrong number of bytes per second', async () => {
    const wave = await fileOf('sound.wav');
    wave.writeUInt32LE(1, 28);
    assert.equal(await told(wave), whole['sound.wav']);
  });

  test('zeros that are the sound itself are not damage', async () => {
    const silent = await fileOf('sound.wav');
    silent.fill(0, 100);
    assert.equal(await told(silent), 'audio/wav 0.5 s');
  });

  test('a HEIC of frames alone has their size', async () => {
    const entry = Buffer.alloc(78);
    entry.writeUInt16BE(64, 24);
    entry.writeUInt16BE(48, 26);
    const type = box('ftyp', Buffer.from('hevc\0\0\0\0msf1hevc'));
    const frames = Buffer.concat([type, box('moov', box('hvc1', entry))]);
    assert.equal(await told(frames), 'image/heic 64x48');
  });

  test('pictures whose data is broken in the middle are damaged', async () => {
    for (const name of ['photo.png', 'interlaced.png', 'photo.avif', 'lzw.tif']) {
      const bytes = await fileOf(name);
      bytes.fill(0, Math.floor(bytes.length * 0.4), Math.floor(bytes.length * 0.6));
      await assert.rejects(told(bytes), FileDamaged, name);
    }
  });

  test('a BMP that claims a flood of pixels is refused', async () => {
    const bytes = await fileOf('photo.bmp');
    bytes.writeInt32LE(1_000_000, 18);
    bytes.writeInt32LE(-1_000_000, 22);
    // Packed, so that its length says nothing about its size.
    bytes.writeUInt32LE(1, 30);
    await assert.rejects(told(bytes), FileDamaged);
    bytes.writeInt32LE(32, 18);
    bytes.writeInt32LE(-20, 22);
    assert.equal(await told(bytes), 'image/bmp 32x20');
  });

  test('a drawing is whole if its root is closed', async () => {
    const open = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="2"><path d="M0 0"/>';
    const ends = ['</svg>', '</svg >\n', '</svg><!-- a --> <!-- </b> -->'];
    for (const end of ends) assert.equal(await told(Buffer.from(open + end)), 'image/svg+xml 4x2');
    assert.equal(await told(Buffer.from('<svg width="4" height="2"/>')), 'image/svg+xml 4x2');
    for (const end of ['', '</g>', '</svg', '<!-- </svg> -->', ' -->'])
      await assert.rejects(told(Buffer.from(open + end)), FileDamaged, end);
  });
});

describe('a type that is not taken', () => {
  const others: Record<string, string> = {
    'film.avi': 'video/vnd.avi',
    'film.3gp': 'video/3gpp',
    'sound-first.ogv': 'video/ogg',
    'sound.aiff': 'audio/aiff',
    'photo.psd': 'image/vnd.adobe.photoshop',
  };
  for (const [name, expected] of Object.entries(others))
    test(`${name} is refused as ${expected}`, async () => {
      const bytes = await fileOf(name);
      await assert.rejects(told(bytes), NotMedia);
      assert.equal(await words(bytes.subarray(0, sniffBytes)), expected);
    });

  test('a text in another encoding, and noise, are named too', async () => {
    assert.equal(await words(Buffer.from('\uFEFFwords', 'utf16le')), 'text in UTF-16');
    assert.equal(await words(Buffer.from('Gr\xfc\xdfe', 'latin1')), 'text that is not in UTF-8');
    assert.equal(await words(Buffer.alloc(100)), 'of no known type');
  });
});
