import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { inRussian } from '../../../web/src/words/in-russian.ts';
import { sentences } from '../../../web/src/words/service-ru.ts';
import { errors, failures } from '../../src/core/errors.ts';
import { readSource } from '../layout/source.ts';

/** People who read Russian are told in Russian what the service says in English. */

const root = path.resolve(import.meta.dirname, '../../..');
/** Where the texts are that somebody may meet on a page. */
const rooms = /\/src\/(core|http|lib|operations|upstreams|worker)\//;
/** Read by programs, by those who run the service from a shell, or in documents. */
const elsewhere =
  /http\/(api\/)?(docs|fal|callbacks|openapi|guide)|-schema\.|worker\/jobs|core\/(\w+\/)?(fal|catalog|snapshot|chat-schema)|operations\/(export|import)\.|lib\/metrics|upstreams\/.*(offers|misfits|callback|look)\.|sandbox\/(drawing|media\/analyse|replies\/answer)|letters\.ts|\.test\.ts$/;
const notShown = new Set([
  // To programs.
  'Poll the status_url.',
  'GET /v1/openapi.json lists the routes.',
  // With what stands around it.
  '{} {}.',
  'No model has the id "{}".',
  'GET /v1/models lists them.',
  'GET /v1/models lists the ids, to be used exactly as listed.',
  'GET /v1/openapi.json lists what is.',
  'Offered: {}.',
  'No tools are offered.',
  'The model id is missing.',
  '{} GET /v1/models lists the ids, to be used exactly as listed.',
  'Check the address, or upload the file and give its file_id.',
  // The sign-in library tells its reason, which has its words.
  'No strangers.',
  'The passkey did not ask who holds it: set a PIN or a fingerprint up on the device.',
  // To callers of the API alone.
  'The database does not answer, so it is not known whether this was taken or charged. Repeat it only with the Idempotency-Key it had; without one look at GET /v1/requests first.',
  // To the log, and to other parts of the service.
  'It took too long.',
  'The worker stops.',
  'The lease was lost.',
  'The step took too long.',
  'The lease could not be renewed.',
]);

interface Text {
  file: string;
  text: string;
  /** The code before it. */
  before: string;
}

/** Every text of the code in files so named, with `{}` for what is put in. */
function texts(place: RegExp, except = elsewhere): Text[] {
  const folder = path.join(root, 'server/src');
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => `server/src/${name}`)
    .filter((file) => file.endsWith('.ts') && rooms.test(file) && !except.test(file))
    .filter((file) => place.test(file))
    .flatMap(textsOf);
}

function textsOf(file: string): Text[] {
  const { code, literals } = readSource(file, fs.readFileSync(path.join(root, file), 'utf8'));
  const found: (Text & { end: number })[] = [];
  for (const { start, text: raw, tag } of literals.toSorted((a, b) => a.start - b.start)) {
    const text = raw.replaceAll('${}', '{}').replaceAll(/\\(['"`])/g, '$1');
    const end = code.indexOf(code[start]!, start + 1) + 1;
    const last = found.at(-1);
    // A long text in pieces.
    if (last && /^\s*\+\s*$/.test(code.slice(last.end, start))) {
      last.text += text;
      last.end = end;
    } else if (tag === '')
      found.push({ file, text, before: code.slice(Math.max(0, start - 80), start), end });
  }
  return found;
}

/** Names that look like words: of fields, of what they may hold, of formats. */
const names = new Set(
  (
    'http https base64 data url id file text role content refusal format input width height ' +
    'png jpeg webp true false null csv json function custom active all'
  ).split(' '),
);
/** A field, quotes, commands, and what no sentence is made of: `image_url`, `/v1/models`, `MP4`, `2.50 USD`. */
const noWords =
  /^\S+: |«[^»]*»|"[^"]*"|npm run build|curl --data-binary @file|\S*[\d_/{}]\S*|[A-Z][a-z]+-[A-Z][a-z]+|\b[A-Z][A-Z0-9-]+\b/g;
const properNames = /\b(ComfyUI|Replicate|Host|Allow)\b/g;

/** The words of a Russian text that are English. */
function englishIn(text: string): string[] {
  const words =
    text
      .replaceAll(noWords, ' ')
      .replaceAll(properNames, ' ')
      .match(/[a-z]\w+/gi) ?? [];
  return words.filter((word) => !names.has(word));
}

function isRussian(text: string): boolean {
  return /[а-я]{3}/.test(text) && englishIn(text).length === 0;
}

function missing(told: Text[], sentence: (text: string) => string): string[] {
  return told
    .filter(({ text }) => !notShown.has(text))
    .map(({ file, text }) => ({ file, text: inRussian(sentence(text.replaceAll('{}', '7'))) }))
    .filter(({ text }) => !isRussian(text))
    .map(({ file, text }) => `${file}: ${text}`);
}

/** Before the description of a field in a schema. */
const ofSchema =
  /\b(text|textOf|integer|number|boolean|list|listOf|choice|anything|amount|time|moment|url|id|\w*icroUsd)\((\w+,|\[[^[]*\],)?\s*$|\b(listOf|record)\(.*, $|description:\s*$/;

const hole = /\{(?:=|\.\.\.|)\}/;

test('every code of the catalogue has a text in Russian', () => {
  const told = [...Object.entries(errors), ...Object.entries(failures)].map(([code, entry]) => ({
    code,
    text: inRussian(typeof entry === 'string' ? entry : entry.message),
  }));
  assert.ok(told.length > 25);
  for (const { code, text } of told) assert.ok(isRussian(text), `${code}: ${text}`);
});

test('so has every sentence that a call can answer with, or a request end with', () => {
  const told = texts(/./).filter(
    ({ text, before }) => /^(["A-Z{]|\w+ must )[^]* [^]*\.$/.test(text) && !ofSchema.test(before),
  );
  assert.ok(told.length > 200);
  assert.deepEqual(
    missing(told, (text) => text),
    [],
  );
});

test('so has all that can be wrong with a field or an address', () => {
  const wrong = texts(/\/(core|http|lib)\//).filter(
    ({ text, before }) =>
      (/\b(unpriceable|invalid|badMessages|no|refuse)\([^()]*$/.test(before) && / /.test(text)) ||
      /^(must|is not acceptable|asks|names?|makes) /.test(text),
  );
  const form = texts(/\/(core|http)\//).filter(({ before }) =>
    /\b(bad|badField)\([^()]*,\s*$/.test(before),
  );
  assert.ok(wrong.length > 30 && form.length > 15);
  assert.deepEqual(
    missing(wrong, (text) => `rpm ${text}.`),
    [],
  );
  assert.deepEqual(
    missing(form, (text) => `rpm must be ${text}.`),
    [],
  );
});

test('and nothing is kept that the service does not say any more', () => {
  const ofPages = fs.readFileSync(path.join(root, 'web/src/api.ts'), 'utf8');
  const all = [...texts(/./, /\.test\.ts$/).map(({ text }) => text), ofPages].join('\n');
  const pieces = (english: string) =>
    english.split(hole).map((piece) => piece.replaceAll(/^[:". ]+|[:". ]+$/g, ''));
  const gone = sentences
    .map(([english]) => english)
    .filter((english) => !pieces(english).every((piece) => all.includes(piece)))
    // The schema checker's own.
    .filter((english) => !/^must (NOT|match|be multiple of|be [<>]=?) /.test(english))
    // Put together by http/validate.ts.
    .filter((english) => !/ (of at most|of at least|(above 0|micro-USD) as) /.test(english));
  assert.deepEqual(gone, []);
});

test('no sentence is half translated, whatever stands in it', () => {
  const half = sentences
    .map(([english]) => english)
    // Others' words come over as they are.
    .filter((english) => !english.includes('{...}'))
    .flatMap((english) => [english, `image_url ${english}.`])
    .map((english) => english.split(hole).join('well lit and in plain English'))
    .filter((said) => inRussian(said) !== said && englishIn(inRussian(said)).length > 0);
  assert.deepEqual(half, []);
  const own = [
    'prompt must be in English.',
    'prompt must be positive.',
    'prompt must be short and clear.',
    'prompt must have a subject.',
    'image must be at least 300x300 pixels.',
    'image_url needs more light.',
    'The picture is empty.',
    'The input must show one face.',
    "The input does not fit the model's schema: /prompt must be polite.",
  ];
  for (const said of own) assert.equal(inRussian(said), said);
});

test('figures and names come over, and what is wrong with a field', () => {
  const told: [string, string][] = [
    [
      'This key may make 600 calls a minute. Wait 12 s.',
      'Этот ключ может делать 600 вызовов в минуту. Подождите 12 с.',
    ],
    [
      'All keys of this account together may have 8 chat calls open at once. Wait until one has ended.',
      'Аккаунт со всеми его ключами не может вести больше 8 чатов одновременно. Дождитесь конца одного из них.',
    ],
    [
      'You have 64 streams and waits open on this server, as many as are left for all others. Nothing was charged; wait until one has ended, and retry with backoff.',
      'На этом сервере у вас открытых потоков и ожиданий: 64, столько же осталось на всех остальных. Деньги не списаны; дождитесь конца одного и повторите позже.',
    ],
    [
      'messages[0].content[1] is of the type input_audio, which acme/chat does not take; it takes text, image. Models that take it: acme/hears.',
      'messages[0].content[1]: тип input_audio модель acme/chat не принимает; она принимает: text, image. Его принимают модели: acme/hears.',
    ],
    [
      'This key has 1 open job, as many as it may. Wait for one to end, or cancel one.',
      'Открытых заданий у ключа: 1, больше нельзя. Дождитесь конца одного или отмените его.',
    ],
    ['rpm must be a whole number from 1 to 1000000.', 'rpm: нужно целое число от 1 до 1000000.'],
    ['sound must be a boolean.', 'sound: нужно true или false.'],
    ['resolution must be one of 1k, 2k.', 'resolution: нужно одно из: 1k, 2k.'],
    [
      "The input does not fit the model's schema: /seed must be <= 9.",
      'Ввод не подходит модели. /seed: не больше 9.',
    ],
    [
      'webhook_url is not acceptable: must be an https URL.',
      'webhook_url: не подходит: нужен адрес https.',
    ],
    ['a.example: its certificate has expired', 'a.example: срок сертификата истёк'],
    [
      'The input does not fit the model\'s schema: /size must be one of "a", "b"; or an object with width and height.',
      'Ввод не подходит модели. /size: нужно одно из: "a", "b" или объект с width и height.',
    ],
    ['field must be a text; or null.', 'field: нужно текст или null.'],
    ['The model refused the input: too dark', 'Модель отклонила ввод: too dark'],
    [
      'The model refused the input: prompt must not be empty.',
      'Модель отклонила ввод: prompt: нельзя оставить пустым.',
    ],
    [
      'image_url must be an image, but the file is a video.',
      'image_url: нужно изображение, а этот файл: видео.',
    ],
    [
      'aspect_ratio must look like 16:9, from 1:8 to 8:1.',
      'aspect_ratio: нужно как 16:9, от 1:8 до 8:1.',
    ],
    ['output_format must be png, jpeg or webp.', 'output_format: нужно png, jpeg или webp.'],
    [
      'At most 4000000 pixels can be made; asked: 4096 x 4096.',
      'Можно не больше 4000000 пикселей; запрошено: 4096 x 4096.',
    ],
    [
      'This key may use fake/chat and 2 more, but not fake/image. Use another key, or let this one use it: in the dashboard.',
      'Этому ключу разрешено: fake/chat и ещё 2, но не fake/image. Возьмите другой ключ или разрешите в кабинете.',
    ],
    [
      'These bytes are of no type that is taken: images, video, audio, PDF and plain text.',
      'Файлы такого вида не принимаются. Можно: изображения, видео, звук, PDF и простой текст.',
    ],
    ['size must be "full HD".', 'size: нужно "full HD".'],
    [
      "The input does not fit the model's schema: /input needs video_url or image_url.",
      'Ввод не подходит модели. /input: нужно одно из: video_url, image_url.',
    ],
  ];
  for (const [english, russian] of told) assert.equal(inRussian(english), russian);
});

test('what a model says in its own words stays as it is', () => {
  assert.equal(inRussian('NSFW content (code 7).'), 'NSFW content (code 7).');
  assert.equal(inRussian(''), '');
});
