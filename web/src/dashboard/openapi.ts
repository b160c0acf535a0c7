/** The service's OpenAPI document, as the reference shows it. */

export interface Document {
  paths: Record<string, Record<string, RawOperation>>;
  components: Record<string, Record<string, unknown>>;
  security: object[];
}

interface RawOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: RawParameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<
    string,
    { $ref?: string; description?: string; content?: Record<string, Content> }
  >;
  security?: object[];
  servers?: unknown[];
  'x-by-session'?: true;
}

interface RawParameter {
  $ref?: string;
  name: string;
  in: Parameter['in'];
  required?: boolean;
  description?: string;
  example?: unknown;
}

interface Content {
  example?: unknown;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  example: string;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  /** An example of the JSON body; null if there is none. */
  body: unknown;
  takesFile: boolean;
  replies: { status: string; text: string }[];
  /** The body of the first success reply. */
  example: unknown;
  isKeyed: boolean;
  /** Called by upstreams, supervisors or the operator's programs, not by customers. */
  isForOthers: boolean;
  /** Needs an API key: a person's session cannot make this call. */
  needsKey: boolean;
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, raw]) => raw.operationId !== undefined)
      .map(([method, raw]) => operationOf(document, method, path, raw)),
  );
}

function operationOf(
  document: Document,
  method: string,
  path: string,
  raw: RawOperation,
): Operation {
  const contents = Object.entries(raw.requestBody?.content ?? {});
  const json = contents.find(([type]) => type === 'application/json');
  const isKeyed = (raw.security ?? document.security).some((each) => Object.keys(each).length > 0);
  // Outputs and files are read by their signed links, without a key.
  const isSigned = raw.parameters?.some(({ name }) => name === 'sig') ?? false;
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path,
    summary: raw.summary,
    description: raw.description ?? '',
    parameters: (raw.parameters ?? []).map((each) => parameterOf(document, each)),
    body: json ? (exampleOf(document, json[1]) ?? {}) : null,
    takesFile: contents.length > 0 && !json,
    replies: Object.entries(raw.responses).map(([status, reply]) => ({
      status,
      text: (pointed(document, reply).description ?? '').replaceAll('`', ''),
    })),
    example: successOf(document, raw),
    isKeyed: isKeyed && !isSigned,
    needsKey: isKeyed && !isSigned && !raw['x-by-session'],
    isForOthers:
      raw.operationId === 'receiveCallback' ||
      raw.servers !== undefined ||
      raw.tags.includes('Operator'),
  };
}

function successOf(document: Document, raw: RawOperation): unknown {
  const [, reply] = Object.entries(raw.responses).find(([status]) => status.startsWith('2')) ?? [];
  const content = reply && pointed(document, reply).content?.['application/json'];
  return content ? (exampleOf(document, content) ?? null) : null;
}

function parameterOf(document: Document, raw: RawParameter): Parameter {
  const { name, in: place, required = false, description = '', example } = pointed(document, raw);
  return {
    name,
    in: place,
    required,
    description,
    example: example === undefined ? '' : String(example),
  };
}

function exampleOf(document: Document, { example, examples }: Content): unknown {
  if (example !== undefined) return example;
  const [first] = Object.values(examples ?? {});
  return first && pointed(document, first).value;
}

/** Resolves a `$ref` within the document. */
function pointed<T extends { $ref?: string }>(document: Document, value: T): T {
  if (value.$ref === undefined) return value;
  const [, , room = '', name = ''] = value.$ref.split('/');
  // A reference leads to an object of its own kind.
  return document.components[room]?.[name] as T;
}
