/** The OpenAPI document against the table of routes, the catalogue of errors and itself. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { passingFields } from '../../src/core/apis/completions/read-call.ts';
import { optionalFields } from '../../src/core/chat/optional-fields.ts';
import { errors, failures } from '../../src/core/errors.ts';
import { proseOf } from '../../src/http/docs/prose.ts';
import { codesOf } from '../../src/http/docs/failures.ts';
import { documentedPath, openapiDocument } from '../../src/http/openapi.ts';
import { openapiText } from '../../src/http/openapi-text.ts';
import { routes } from '../../src/http/routes.ts';
import { inLong } from '../kit/long.ts';
import { document, resolve, schemaFault } from '../kit/openapi.ts';

type Json = Record<string, any>;

const table = routes;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Json)
    .filter(([name]) => name !== 'servers')
    .map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation: operation as Json,
    })),
);
const schemas = document.components.schemas as Json;

/** Every parameter of the calls for callers. */
const parameters: Record<string, string[]> = {
  'GET /models': ['query kind', 'header If-None-Match'],
  'GET /models/{model_id}': ['path model_id', 'header If-None-Match'],
  'GET /farebox-client.tgz': ['header If-None-Match'],
  'GET /llms.txt': ['header If-None-Match'],
  'GET /openapi.json': [],
  'GET /balance': [],
  'GET /deposit-addresses': [],
  'GET /deposits': ['query limit', 'query cursor'],
  'POST /estimate': [],
  'POST /chat/completions': ['header Idempotency-Key', 'header x-metadata', 'header x-request-id'],
  'POST /responses': ['header Idempotency-Key', 'header x-metadata', 'header x-request-id'],
  'POST /images/generations': [
    'query webhook_url',
    'header Idempotency-Key',
    'header x-metadata',
    'header x-request-id',
  ],
  'POST /images/edits': [
    'query webhook_url',
    'header Idempotency-Key',
    'header x-metadata',
    'header x-request-id',
  ],
  'POST /videos': [
    'query webhook_url',
    'header Idempotency-Key',
    'header x-metadata',
    'header x-request-id',
  ],
  'GET /videos': ['query after', 'query limit', 'query order'],
  'GET /videos/{request_id}': ['path request_id'],
  'GET /videos/{request_id}/content': [
    'path request_id',
    'query variant',
    'header Range',
    'header If-None-Match',
    'header If-Range',
  ],
  'DELETE /videos/{request_id}': ['path request_id'],
  'POST /replicate/v1/predictions': [
    'header Idempotency-Key',
    'header Prefer',
    'header x-metadata',
    'header x-request-id',
  ],
  'GET /replicate/v1/predictions': ['query cursor'],
  'GET /replicate/v1/predictions/{request_id}': ['path request_id'],
  'POST /replicate/v1/predictions/{request_id}/cancel': ['path request_id'],
  'POST /replicate/v1/models/{model_id}/predictions': [
    'path model_id',
    'header Idempotency-Key',
    'header Prefer',
    'header x-metadata',
    'header x-request-id',
  ],
  'GET /replicate/v1/models/{model_id}': ['path model_id'],
  'POST /replicate/v1/files': [],
  'GET /replicate/v1/files': ['query cursor'],
  'GET /replicate/v1/files/{file_id}': ['path file_id'],
  'DELETE /replicate/v1/files/{file_id}': ['path file_id'],
  'GET /replicate/v1/webhooks/default/secret': [],
  'POST /messages': ['header Idempotency-Key', 'header x-metadata', 'header x-request-id'],
  'POST /messages/count_tokens': [],
  'POST /queue/{model_id}': [
    'path model_id',
    'query webhook_url',
    'header Idempotency-Key',
    'header Prefer',
    'header x-metadata',
    'header x-request-id',
  ],
  'GET /requests': [
    'query status',
    'query model_id',
    'query key_id',
    'query person_id',
    'query from',
    'query to',
    'query call_id',
    'query limit',
    'query cursor',
    'query metadata.NAME',
  ],
  'GET /refusals': ['from', 'to', 'code', 'model_id', 'key_id', 'limit', 'cursor'].map(
    (name) => `query ${name}`,
  ),
  'GET /usage': [
    'query by',
    'query model_id',
    'query key_id',
    'query from',
    'query to',
    'query limit',
    'query cursor',
    'query metadata.NAME',
  ],
  'GET /requests/{request_id}': ['path request_id'],
  'GET /requests/{request_id}/status': ['path request_id', 'query wait', 'query until'],
  'GET /requests/{request_id}/status/stream': ['path request_id'],
  'GET /requests/{request_id}/response': ['path request_id'],
  'POST /requests/{request_id}/cancel': ['path request_id', 'query running'],
  'PUT /requests/{request_id}/cancel': ['path request_id', 'query running'],
  'POST /keys': [],
  'GET /keys': ['query state', 'query limit', 'query cursor'],
  'GET /keys/{key_id}': ['path key_id'],
  'PATCH /keys/{key_id}': ['path key_id'],
  'DELETE /keys/{key_id}': ['path key_id'],
  'DELETE /requests/{request_id}/output': ['path request_id'],
  'GET /requests/{request_id}/output/{index}': [
    'path request_id',
    'path index',
    'query size',
    'query exp',
    'query sig',
    'header Range',
    'header If-None-Match',
    'header If-Range',
  ],
  'POST /files': [],
  'GET /files/{file_id}': [
    'path file_id',
    'query exp',
    'query sig',
    'header Range',
    'header If-None-Match',
    'header If-Range',
  ],
  'POST /callbacks/{upstream}/{request_id}/{attempt}/{sig}': [
    'path upstream',
    'path request_id',
    'path attempt',
    'path sig',
  ],
  'POST /fal/run/{model_id}': [
    'path model_id',
    'query fal_webhook',
    'header Idempotency-Key',
    'header x-metadata',
    'header x-request-id',
  ],
  'GET /livez': [],
  'GET /readyz': [],
  'GET /metrics': [],
};

describe('the document and the table of routes', () => {
  test('name the same routes, in the same order', () => {
    const rows = table.map((route) => `${route.method} ${documentedPath(route)}`);
    assert.deepEqual(
      operations.map(({ name }) => name),
      rows,
    );
  });

  test('give every route its parameters, and no others', () => {
    const listed = operations.map(({ name, operation }) => {
      const given = (operation.parameters ?? []) as Json[];
      return [name, given.map((parameter) => `${parameter.in} ${parameter.name}`)];
    });
    const ofOperator = table
      .filter(({ who }) => who === 'operator')
      .map((route): [string, string[]] => {
        const path = documentedPath(route);
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`);
        const inQuery = Object.keys(route.shapes.query?.properties ?? {});
        return [`${route.method} ${path}`, [...inPath, ...inQuery.map((name) => `query ${name}`)]];
      });
    assert.deepEqual(Object.fromEntries(listed), {
      ...parameters,
      ...Object.fromEntries(ofOperator),
    });
  });

  test('agree on what is part of a path', () => {
    for (const [path, item] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(item as Json).filter((value) => 'responses' in value)) {
        const given = ((operation.parameters ?? []) as Json[]).filter((each) => each.in === 'path');
        assert.deepEqual(
          given.map(({ name }) => name),
          inPath,
          path,
        );
        assert.ok(
          given.every(({ required }) => required === true),
          path,
        );
      }
    }
  });

  test('agree on who may call', () => {
    for (const [i, route] of table.entries()) {
      const { name, operation } = operations[i]!;
      const open =
        operation.security?.length === 0 ||
        operation.security?.some((each: Json) => Object.keys(each).length === 0);
      assert.equal(open ?? false, route.who !== 'key' && route.who !== 'operator', name);
      const ofOperator = operation.security?.some((each: Json) => 'OperatorKey' in each);
      assert.equal(ofOperator ?? false, route.who === 'operator', name);
    }
  });

  test('have an operationId that is used once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('put what lies outside /v1 on a server without it', () => {
    for (const route of table) {
      const item = document.paths[documentedPath(route)] as Json;
      assert.equal(item.servers?.[0].url, route.prefixed ? undefined : 'http://localhost:8080');
    }
    assert.deepEqual(document.servers, [{ url: 'http://localhost:8080/v1' }]);
  });
});

describe('the document and the catalogue of errors', () => {
  test('know the same codes', () => {
    assert.deepEqual(schemas.ErrorCode.enum, Object.keys(errors));
    assert.deepEqual(schemas.FailureCode.enum, Object.keys(failures));
    assert.deepEqual(Object.keys(document.components.examples!), Object.keys(errors));
  });

  test('have every code in at least one operation, and no unknown one', () => {
    const used = new Set<string>();
    for (const { name, operation } of operations) {
      for (const [status, node] of Object.entries(operation.responses as Json)) {
        const codes = (resolve(node)['x-error-codes'] ?? []) as string[];
        assert.equal(codes.length > 0, Number(status) >= 400, `${name} ${status}`);
        for (const code of codes) used.add(code);
      }
    }
    assert.deepEqual([...used].sort(), Object.keys(errors).sort());
  });

  test('put each code under the status of the catalogue', () => {
    for (const [i, { name, operation }] of operations.entries()) {
      // These calls refuse with the statuses of other services.
      if (/ \/(fal|replicate)\//.test(name)) continue;
      const found: string[] = [];
      for (const [status, node] of Object.entries(operation.responses as Json)) {
        if (status === '416') continue;
        for (const code of (resolve(node)['x-error-codes'] ?? []) as (keyof typeof errors)[]) {
          assert.equal(Number(status), errors[code].status, `${name} ${code}`);
          found.push(code);
        }
      }
      assert.deepEqual(found.sort(), codesOf(table[i]!).sort(), name);
    }
  });
});

/** Bodies that may hold any JSON. */
const withoutExample = [
  '//openapi.json/get/responses/200',
  '//callbacks/{upstream}/{request_id}/{attempt}/{sig}/post/requestBody',
];

/** Amounts of replies that may be below zero. */
const signedFields = new Set([
  'AnyRequest.margin_usd_micro',
  'OperatorRequest.margin_usd_micro',
  'AccountMovement.amount_usd_micro',
  'AccountMovement.change_usd_micro',
  'UsageSum.charged_usd_micro',
  'UsageLine.charged_usd_micro',
  ...['RevenueSum', 'RevenueDay', 'TopAccount', 'CatalogRowDetail.recent'].flatMap((name) => [
    `${name}.charged_usd_micro`,
    `${name}.margin_usd_micro`,
  ]),
  'RowMargin.margin_usd_micro',
  'RowRate.margin_usd_micro',
]);

describe('the schemas', () => {
  test('compile, each of them', () => {
    for (const name of Object.keys(schemas)) {
      const schema = { $ref: `#/components/schemas/${name}` };
      for (const closed of [false, true]) schemaFault(schema, null, closed);
    }
  });

  test('fit every example of a body, a parameter and a header', () => {
    const { seen, faults } = exampleFaults(document);
    assert.deepEqual(faults, []);
    assert.ok(seen > 100, `only ${seen} examples were found`);
  });

  test('have an example for every body and reply in JSON', () => {
    const bare: string[] = [];
    visit(document.paths, '', (node, at) => {
      const isSuccess = /requestBody$|responses\/2\w\w$/.test(at);
      const json = isSuccess && (node.content as Json)?.['application/json'];
      if (json && !json.examples) bare.push(at.replace(/.*paths/, ''));
    });
    assert.deepEqual(bare, withoutExample);
  });

  test('refuse what is not on the wire', () => {
    const amount = { $ref: '#/components/schemas/QuotedExample' };
    assert.throws(() => schemaFault(amount, '1', false));
    const cancelled = { $ref: '#/components/schemas/Cancelled' };
    const good = { request_id: '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10', status: 'CANCELLED' };
    assert.equal(schemaFault(cancelled, good, true), null);
    assert.match(schemaFault(cancelled, { ...good, status: 'DONE' }, false)!, /allowed values/);
    assert.match(schemaFault(cancelled, { ...good, request_id: '7' }, false)!, /format/);
    assert.match(schemaFault(cancelled, { status: 'CANCELLED' }, false)!, /request_id/);
    assert.equal(schemaFault(cancelled, { ...good, more: 1 }, false), null);
    assert.match(
      schemaFault(cancelled, { ...good, more: 1 }, true)!,
      /\/more is not in the document/,
    );
  });

  test('give every object field a type or a reference, and money a pattern', () => {
    visit(schemas, 'schemas', (node, at) => {
      for (const [name, field] of Object.entries((node.properties ?? {}) as Json)) {
        if (typeof field !== 'object') continue;
        const known = ['type', '$ref', 'anyOf'].some((key) => key in field);
        assert.ok(known, `${at}.${name} has no type`);
        if (name.endsWith('_usd_micro') && field.type !== 'object') {
          const signed = signedFields.has(`${at.split('/').at(-1)}.${name}`);
          assert.equal(
            field.pattern,
            signed ? '^(0|-?[1-9][0-9]{0,17})$' : '^(0|[1-9][0-9]*)$',
            `${at}.${name}`,
          );
        }
      }
    });
  });

  test('describe every chat field that is passed on, and no other', () => {
    const own = [
      'model',
      'messages',
      'max_tokens',
      'max_completion_tokens',
      'n',
      'stream',
      'stream_options',
      'metadata',
    ];
    const described = Object.keys(schemas.ChatRequest.properties);
    assert.deepEqual(
      described.sort(),
      [...own, ...Object.keys({ ...passingFields, ...optionalFields })].sort(),
    );
  });
});

describe('docs/api/', () => {
  const folder = new URL('../../../docs/api/', import.meta.url);
  const pages = readdirSync(folder).map(
    (file) => [file.replace('.md', ''), readFileSync(new URL(file, folder), 'utf8')] as const,
  );
  const cancelPath = '/requests/{request_id}/cancel';
  const head = `## \`POST ${cancelPath}\`\n\n`;
  /** The document that the pages make with this section about the cancel. */
  const madeFrom = (section: string): Json => {
    const changed = new Map(pages);
    const requests = changed.get('requests')!;
    const [before, own] = requests.split(head);
    assert.ok(own);
    changed.set('requests', `${before}${section}\n\n${own.slice(own.indexOf('## '))}`);
    return openapiDocument(table, proseOf('# API', changed));
  };
  const id = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
  const reply = (example: object, place = '200') =>
    `${head}**Cancel.** Why.\n\n\`\`\`json ${place}\n${JSON.stringify(example)}\n\`\`\`\n`;
  const good = { request_id: id, status: 'CANCELLED' };

  test('gives a call its summary, its description and its examples', () => {
    const page = reply(good).replace('Why.', 'See [why](a.md#b), [W](https://w.org).\n\n- one:');
    const { post } = madeFrom(page).paths[cancelPath];
    assert.equal(post.summary, 'Cancel');
    assert.equal(post.description, 'See why, [W](https://w.org).');
    const { examples } = post.responses[200].content['application/json'];
    assert.deepEqual(examples, { example: { value: good } });
    assert.deepEqual(exampleFaults(post).faults, []);
  });

  const refused: [string, string, RegExp][] = [
    ['a call without prose', '', /does not describe POST \/requests\/\{request_id\}\/cancel/],
    ['a call that is only mentioned', '**Cancel.** `POST`', /does not describe POST/],
    ['a heading without a call', `${reply(good)}## \`GET /nothing\`\n\n**No.**`, /no call GET/],
    ['a method that an address lacks', `${reply(good)}## \`PUT /files\`\n\n**No.**`, /no call PUT/],
    ['a section without a summary', `${head}Cancel a request.`, /its summary in bold/],
    ['a section that begins with code', `${head}\`\`\`sh\nx\n\`\`\``, /its summary in bold/],
    ['an example that is not JSON', reply(good).replace('{"', '{,"'), /is not JSON: \{,/],
    ['an example of another status', reply(good, '204'), /has no reply 204/],
    ['a call twice', reply(good) + reply(good), /describes POST \S+ twice/],
    ['a call of another page, too', `${reply(good)}## \`GET /balance\`\n\n**B.**`, /GET \S+ twice/],
    ['an example of an unknown place', reply(good, 'answer'), /has no reply answer/],
  ];
  for (const [what, page, message] of refused)
    test(`may not have ${what}`, () => assert.throws(() => madeFrom(page), message));

  const unfit: [string, object, RegExp][] = [
    ['an unknown field', { ...good, more: 1 }, /the field \/more is not in the document/],
    ['a field of a wrong type', { ...good, request_id: 7 }, /request_id must be string/],
    ['a text that is not allowed', { ...good, status: 'DONE' }, /status must be equal/],
    ['no required field', { request_id: id }, /must have required property 'status'/],
    ['a list instead of an object', [good], /must be object/],
  ];
  for (const [what, example, message] of unfit) {
    test(`has examples that fit: not ${what}`, () => {
      const { post } = madeFrom(reply(example)).paths[cancelPath];
      assert.match(exampleFaults(post).faults.join(), message);
    });
  }
});

describe('the committed document', () => {
  test('is the one the table makes', () => {
    assert.deepEqual(document, JSON.parse(JSON.stringify(openapiDocument(table))));
  });

  test('takes the address of the running service everywhere', () => {
    const text = openapiText('https://api.example.org/fare"$&box/v1');
    assert.ok(!text.includes('localhost:8080'));
    const own = JSON.parse(text) as Json;
    assert.equal(own.servers[0].url, 'https://api.example.org/fare"$&box/v1');
    assert.equal(own.paths['/livez'].servers[0].url, 'https://api.example.org/fare"$&box');
    assert.equal(own.info.version, '1');
  });

  test('holds null in no enumeration beside texts, of which generators make wrong code', () => {
    const wrong: string[] = [];
    visit(document, '', (node, at) => {
      const { enum: members } = node;
      if (Array.isArray(members) && members.length > 1 && members.includes(null)) wrong.push(at);
    });
    assert.deepEqual(wrong, []);
    const { error_code } = (document as Json).components.schemas.RequestLine.properties;
    for (const value of [null, 'timeout']) assert.equal(schemaFault(error_code, value, true), null);
    assert.notEqual(schemaFault(error_code, 'no_such_code', true), null);
  });

  test('tells the forms of each reply apart by a field, for generated clients', () => {
    let unions = 0;
    for (const { name, operation } of operations) {
      for (const response of Object.values<Json>(operation.responses)) {
        const { anyOf } = (resolve(response) as Json).content?.['application/json']?.schema ?? {};
        if (!anyOf) continue;
        unions++;
        const forms = (anyOf as Json[]).map((form) => resolve(form) as Json);
        const telling = Object.keys(forms[0]!.properties).find((field) => {
          const all = forms.flatMap(
            ({ properties }): unknown[] => properties[field]?.enum ?? [null],
          );
          return !all.includes(null) && new Set(all).size === all.length;
        });
        // An open form gives every field that it does not name the type unknown, and a field
        // without a default may be undefined.
        const [{ required }, ...others] = forms as [Json, ...Json[]];
        assert.ok(telling && required.includes(telling), name);
        for (const { additionalProperties: isOpen, properties } of others)
          assert.ok(!isOpen || properties.request_id.default === '', name);
      }
    }
    assert.equal(unions, 1);
  });

  inLong('passes redocly without errors and warnings', async () => {
    const cli = new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url).pathname;
    const root = new URL('../../../', import.meta.url).pathname;
    const env = {
      ...process.env,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const report = await new Promise<string>((done, fail) => {
      const args = [cli, 'lint', 'openapi.json', '--format', 'json'];
      execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) =>
        error && stdout === '' ? fail(new Error(stderr)) : done(stdout),
      );
    });
    const { totals, problems } = JSON.parse(report) as Json;
    assert.deepEqual(
      totals,
      { errors: 0, warnings: 0, ignored: 0 },
      JSON.stringify(problems, null, 1),
    );
  });
});

/** Calls `see` for every object of the document, without following references. */
function visit(node: unknown, at: string, see: (node: Json, at: string) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) see(node as Json, at);
  for (const [name, child] of Object.entries(node)) {
    if (name === 'properties') {
      // A map of fields: a field may be called "example".
      for (const [field, schema] of Object.entries(child)) visit(schema, `${at}.${field}`, see);
    } else if (name !== 'example' && name !== 'examples') {
      // The contents of an example are data.
      visit(child, `${at}/${name}`, see);
    }
  }
}

/** Where examples of a document do not fit their schemas, and how many examples it has. */
function exampleFaults(node: unknown): { seen: number; faults: string[] } {
  let seen = 0;
  const faults: string[] = [];
  visit(node, '', (each, at) => {
    for (const [value, schema] of examplesOf(each)) {
      seen++;
      const fault = schemaFault(schema, value, true);
      if (fault !== null) faults.push(`${at}: ${fault}`);
    }
  });
  return { seen, faults };
}

/** The examples of a media type, a parameter, a header or a schema, with the schema they must fit. */
function examplesOf(node: Json): [unknown, Json][] {
  const schema = (typeof node.schema === 'object' ? node.schema : node) as Json;
  const found: [unknown, Json][] = 'example' in node ? [[node.example, schema]] : [];
  for (const example of Object.values((node.examples ?? {}) as Json)) {
    if (typeof node.schema === 'object') found.push([resolve(example).value, schema]);
  }
  return found;
}
