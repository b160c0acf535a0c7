/** The parts of the document that belong to no route. */

const description = [
  'A prepaid gateway to text, image and video models: one key, one USDT balance, and a price ' +
    'that is fixed before the job starts.',
  '## In short\n\n1. `GET /models`: choose a model.\n2. `POST /estimate`: see what an ' +
    'input costs.\n3. `POST /queue/{model_id}`: submit it; the price is reserved.\n4. `GET ' +
    '/requests/{request_id}/status`: poll every 2 to 5 seconds, or let the call wait.\n5. ' +
    '`GET /requests/{request_id}/response`: the output, as signed links that work for 24 ' +
    'hours.\n\nText models are called directly: `POST /chat/completions`.',
  '## Money\n\nEvery `*_usd_micro` is a whole number of micro-USD as a decimal string: 1 USDT = ' +
    '1 USD = `"1000000"`. A submit reserves its quote; `COMPLETED` charges what was delivered, ' +
    'never more than the quote; `FAILED` and `CANCELLED` charge nothing.',
  '## Errors\n\nEvery error reply has the same body, `Error`, except that `/messages` sends ' +
    "errors in Anthropic's form. Programs should branch on `error.code`; the message is for " +
    'people. `x-error-codes` of a response lists its possible codes. A call that is not valid ' +
    'HTTP gets `Error` with status 400, 408 or 431 and code `bad_request`.',
  '## Compatibility\n\nThe version is in the path. Fields, codes and enumeration members ' +
    'may be added, but are never removed, so ignore those you do not know. `HEAD` works ' +
    'wherever `GET` does. Paths outside `/v1` are ' +
    "for monitoring by the operator, and for fal's clients.",
].join('\n\n');

export const about = {
  title: 'Farebox',
  version: '1',
  description,
  contact: { name: 'The operator of this service' },
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
};

export const tags = [
  { name: 'Catalog', description: 'Models and prices.' },
  { name: 'Balance', description: "The account's balance and the key's limit." },
  { name: 'Deposits', description: 'USDT from blockchains: the addresses and the deposits.' },
  { name: 'Queue', description: 'Images and video: submit, then poll or receive a webhook.' },
  { name: 'Requests', description: 'Status, output and cancel of submitted requests.' },
  { name: 'Files', description: 'Uploads of your own media, for use as inputs.' },
  { name: 'Chat', description: 'Text models.' },
  {
    name: 'Keys',
    description:
      'The keys of the account, for platforms that give each customer a key. These calls need a key of scope `keys`, which people create in the dashboard and which can do nothing else.',
  },
  { name: 'Companions', description: 'This documentation for machines, and the client.' },
  {
    name: 'Operator',
    description:
      "For the operator's own programs, such as a payment system. These calls need an operator key, which begins with `fbo_` and has scopes.",
  },
  { name: 'Health', description: 'For the operator; outside /v1.' },
];

export const securitySchemes = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Authorization: Key <API_KEY>`. Keys begin with `fbx_`.',
  },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      '`Authorization: Bearer <API_KEY>` means the same, so that stock OpenAI clients work.',
  },
  XApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: '`x-api-key: <API_KEY>` means the same, for clients of Anthropic.',
  },
  OperatorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Authorization: Key <OPERATOR_KEY>`. Operator keys begin with `fbo_`.',
  },
  OperatorBearer: {
    type: 'http',
    scheme: 'bearer',
    description: '`Authorization: Bearer <OPERATOR_KEY>` means the same.',
  },
  OperatorXApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: '`x-api-key: <OPERATOR_KEY>` means the same.',
  },
  MetricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The metrics token that the operator has set. API keys are not accepted.',
  },
};

/** The ways to send an API key. */
export const keyed: Record<string, string[]>[] = [{ ApiKey: [] }, { Bearer: [] }, { XApiKey: [] }];
