import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { startService } from '../kit/service.ts';
import { databaseFor, placeFor } from './cli.ts';
import { chatRow, imageRow } from './upstream-kit.ts';

/** Problems that are found in a catalog's files without any call or variable. */

const workflow = JSON.stringify({
  prompt: { '1': { class_type: 'Any', inputs: { text: '', image: 'a.png' } } },
  inputs: { prompt: '1.text' },
  files: { image_url: '1.image' },
});
const comfyui = `upstream:
  name: studio
  adapter: comfyui
  url_from: STUDIO_URL
  options: { workflows: { draw: ${workflow} } }
models:
`;
const openai = 'upstream: { name: own, adapter: openai, url: "http://127.0.0.1:9" }\nmodels:\n';
const fal = 'upstream: { name: fal, adapter: fal, url_from: NO_URL, key_from: NO_KEY }\nmodels:\n';
const replicate =
  'upstream: { name: rep, adapter: replicate, url_from: NO_URL, key_from: NO_KEY }\nmodels:\n';

/** A row with further fields, one a line. */
const row = (id: string, fields: string[], task = 'text-to-image') => `
  - id: ${id}
    kind: image
    task: ${task}
    name: ${id}
    price: { unit: image, usd: "0.01" }
${fields.map((field) => `    ${field}`).join('\n')}
    input_schema: { type: object, properties: { prompt: { type: string }, image_url: { type: string } } }
    example: { prompt: a }
`;

/** A chat row with audio. */
const audioRow = (id: string) =>
  chatRow(id, 'any', '1', '1').replace(/ }$/, ', input_modalities: [text, audio] }');

const files: Record<string, string> = {
  'studio.yaml':
    comfyui +
    row('good', [
      'upstream_model: draw',
      'on_cancel: free',
      'input_mapping: { prompt: "prompt:{}, at night", image_url: ":" }',
    ]),
  'no-workflow.yaml': `upstream: studio\nmodels:\n${row('a', ['upstream_model: gone'])}`,
  'no-field.yaml': `upstream: studio\nmodels:\n${row('b', [
    'upstream_model: draw',
    'input_mapping:',
    '  image_url: image_url',
    '  prompt: words',
  ])}`,
  'own.yaml': openai + row('good-too', ['upstream_model: m']),
  'no-call.yaml': `upstream: own\nmodels:\n${row('c', ['upstream_model: m'], 'upscale')}`,
  'fal.yaml': fal + chatRow('d', 'any', '1', '1'),
  'claude.yaml': `upstream: { name: claude, adapter: anthropic, url: "http://127.0.0.1:9" }\nmodels:\n${audioRow('g')}`,
  'responses.yaml': `upstream: { name: resp, adapter: openai, url: "http://127.0.0.1:9", options: { api: responses } }\nmodels:\n${audioRow('h')}`,
  'rep.yaml': `${replicate}${imageRow('e', 'no name')}\n`,
  'two.yaml': `models:\n${row('f', ['upstreams:', '  - { upstream: own, model: m }', '  - { upstream: studio, model: m }'])}`,
};

const stopping = ['upstream_model: m', 'on_cancel: upstream'];
const jobs = (name: string, more = '') =>
  `upstream:
  name: ${name}
  adapter: http-job
  url: "http://127.0.0.1:9"
  options: { auth: bearer, submit: { path: /jobs, body: $input }, id: id, poll: { path: "/jobs/{id}" }, status: s, outputs: [o]${more} }
models:
`;
Object.assign(files, {
  'no-stop.yaml': `upstream: own\nmodels:\n${row('s', stopping)}`,
  'one-stops.yaml': `models:\n${row('t', ['on_cancel: full', 'upstreams:', '  - { upstream: studio, model: draw }', '  - { upstream: own, model: m }'])}`,
  'plain-job.yaml': jobs('plain') + row('u', stopping),
  'stops.yaml':
    jobs('stops', ', cancel: { path: "/jobs/{id}/cancel" }') + row('good-job', stopping),
});

const found: [file: string, line: number, path: string, message: RegExp][] = [
  [
    'claude.yaml',
    5,
    '/models/0/input_modalities',
    /^g: claude: its API takes no audio in a chat; name only text, image and file\.$/,
  ],
  [
    'fal.yaml',
    3,
    '/models/0/task',
    /^d: fal: it has no chat; use an upstream of the adapter openai or anthropic\.$/,
  ],
  [
    'no-call.yaml',
    6,
    '/models/0/task',
    /^c: own: it has no call for upscale; it has calls for chat, /,
  ],
  [
    'no-field.yaml',
    12,
    '/models/0/input_mapping/prompt',
    /^b: studio: its workflow draw has no input words; it has prompt, image_url\.$/,
  ],
  [
    'no-stop.yaml',
    10,
    '/models/0/on_cancel',
    /^s: own: it cannot stop a job; leave on_cancel out\.$/,
  ],
  [
    'no-workflow.yaml',
    9,
    '/models/0/upstream_model',
    /^a: studio: its definition has no workflow gone; it has draw\.$/,
  ],
  ['one-stops.yaml', 8, '/models/0/on_cancel', /^t: own: it cannot stop a job/],
  ['plain-job.yaml', 14, '/models/0/on_cancel', /^u: plain: it cannot stop a job/],
  ['rep.yaml', 3, '/models/0/upstream_model', /^e: rep: no name is not a valid model name there; /],
  ['responses.yaml', 5, '/models/0/input_modalities', /^h: resp: its API takes no audio/],
  ['two.yaml', 10, '/models/0/upstreams/1/model', /^f: studio: its definition has no workflow m; /],
];

test('catalog check finds the rows that their upstream can never serve, with file and line', async (t) => {
  const place = placeFor(t);
  for (const [name, text] of Object.entries(files))
    fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, name), text);
  const { code, json, stdout } = await place.run(['catalog', 'check', '--json']);
  assert.equal(code, 1, stdout);
  assert.deepEqual(
    json.problems.map((each: any) => [each.file, each.line, each.path]),
    found.map(([file, line, at]) => [file, line, at]),
    stdout,
  );
  for (const [i, [, , , message]] of found.entries())
    assert.match(json.problems[i].message, message);
});

test('catalog check warns of a price below the cost that its row states, and exits with 0', async (t) => {
  const place = placeFor(t);
  const text = `${openai}${row('slip', ['cost_usd: "0.02"'])}${row('well', ['cost_usd: "0.01"'])}`;
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, 'own.yaml'), text);
  const { code, json } = await place.run(['catalog', 'check', '--json']);
  const message = 'slip: it is sold for 0.01 USD an image, and its stated cost at own is 0.02 USD.';
  assert.deepEqual(
    [code, json.ok, json.problems, json.warnings],
    [0, true, [], [{ id: 'slip', file: 'own.yaml', path: '/models/0/price', message, line: 8 }]],
  );
  const { code: again, stdout } = await place.run(['catalog', 'check']);
  assert.equal(again, 0);
  assert.ok(stdout.startsWith(`warning: own.yaml:8 /models/0/price: ${message}\n`), stdout);
  assert.match(stdout, /, 0 problems, 1 warning\.$/m);
});

test('catalog check warns once for each file with prices that are not checked for long', async (t) => {
  const place = placeFor(t);
  const on = (day: string) => [`checked_on: ${day}`];
  const text = `${openai}${row('old', on('2020-01-01'))}${row('older', on('2019-06-30'))}${row('fresh', on('2999-01-01'))}${row('own', [])}`;
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, 'own.yaml'), text);
  const { code, json } = await place.run(['catalog', 'check', '--json']);
  const message =
    '2 rows were last checked more than 60 days ago, the oldest on 2019-06-30: old, older.';
  assert.deepEqual(
    [code, json.problems, json.warnings],
    [0, [], [{ file: 'own.yaml', path: '/models', message }]],
  );
});

test('such a row does not go live, and the log names it', async () => {
  const service = await startService({ catalog: openai + row('c', [], 'upscale') });
  const account = await service.account();
  const listed = await account.get('/v1/models');
  assert.deepEqual(listed.body.data, []);
  const said = service.log.filter((line) => line.includes('it has no call for upscale'));
  assert.equal(said.length, 1, said.join('\n'));
  await service.stop();
});

test('an address with a user name or a password is refused, and never shown', async (t) => {
  const { env } = await databaseFor(t);
  const place = placeFor(t, { ...env, OWN_URL: 'http://me:hidden-word@127.0.0.1:9/v1' });
  const write = (name: string, at: string) => {
    const text = `upstream: { name: ${name}, adapter: openai, ${at} }\nmodels:\n${imageRow(name, 'm')}\n`;
    fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, `${name}.yaml`), text);
  };
  const ask = async (...args: string[]) => {
    const ran = await place.run(args);
    assert.doesNotMatch(ran.stdout + ran.stderr, /hidden-word|me:/);
    return ran;
  };
  const addresses = [
    'http://me:hidden-word@127.0.0.1:9',
    'https://hidden-word@host.example/v1',
    'http:///me:hidden-word@host.example',
    'http:/\\\\me:hidden-word@host.example',
  ];
  for (const [i, address] of addresses.entries())
    write(`bad${i}`, `url: ${JSON.stringify(address)}`);
  write('good', 'url: "http://127.0.0.1:9/@scope/v1"');
  write('own', 'url_from: OWN_URL');
  const [check, own, bad, list] = await Promise.all([
    ask('catalog', 'check'),
    ask('upstream', 'test', 'own'),
    ask('upstream', 'test', 'bad0'),
    ask('upstream', 'list'),
  ]);
  assert.deepEqual([check.code, own.code, bad.code], [1, 1, 2], check.stdout);
  const refused = check.stdout.matchAll(
    /^(\w+)\.yaml:1 .*url must be: base address, .* without user name, password/gm,
  );
  assert.deepEqual(
    [...refused].map(([, name]) => name),
    ['bad0', 'bad1', 'bad2', 'bad3'],
    check.stdout,
  );
  const reason = /it needs OWN_URL to be .* without user name, password and query/;
  assert.match(check.stdout, new RegExp(`hidden: 1 row \\(own\\): .*${reason.source}`));
  for (const { stdout } of [own, list]) assert.match(stdout, reason);
});

test('rows that are hidden for the same reason share a line', async (t) => {
  const place = placeFor(t);
  const rows = ['a', 'b', 'c', 'd'].map((id) => row(id, ['upstream_model: m']));
  fs.writeFileSync(path.join(place.env.FAREBOX_CATALOG!, 'fal.yaml'), fal + rows.join(''));
  const { stdout, code } = await place.run(['catalog', 'check']);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^hidden: 4 rows \(a, b, c, …\): the upstream "fal" .* needs NO_URL$/m);
  const { json } = await place.run(['catalog', 'check', '--json']);
  assert.deepEqual(
    json.hidden.map(({ id }: { id: string }) => id),
    ['a', 'b', 'c', 'd'],
  );
});
