import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './until.ts';

/** A collector of traces: takes OTLP over HTTP, as JSON. */

export interface CollectedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  /** 1: internal, 2: server, 3: client. */
  kind: number;
  /** 2: an error. */
  status: number | undefined;
  state: string | undefined;
  attributes: Record<string, unknown>;
}

export interface Collector {
  url: string;
  /** All bodies as they came. */
  bodies: string[];
  headers: NodeJS.Dict<string | string[]>[];
  spans: CollectedSpan[];
  /** The attributes of the process that sent last. */
  resource: Record<string, unknown>;
  /** Waits for a span with this name in a trace. */
  span(traceId: string, name: string): Promise<CollectedSpan>;
  close(): void;
}

/** `answers`: false leaves each call without an answer. */
export async function openCollector(answers: () => boolean = () => true): Promise<Collector> {
  const server = createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8');
      collector.bodies.push(body);
      collector.headers.push(req.headers);
      if (!answers()) return;
      if (req.method !== 'POST' || req.url !== '/v1/traces') return res.writeHead(404).end();
      for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
        collector.resource = valuesOf(resource.attributes);
        for (const { spans } of scopeSpans) collector.spans.push(...spans.map(spanOf));
      }
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies: [],
    headers: [],
    spans: [],
    resource: {},
    span: (traceId, name) =>
      until(`a span "${name}" of ${traceId}`, () =>
        collector.spans.find((span) => span.traceId === traceId && span.name === name),
      ),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return collector;
}

function spanOf(span: any): CollectedSpan {
  const { name, traceId, spanId, parentSpanId, kind, status, traceState } = span;
  const attributes = valuesOf(span.attributes);
  return {
    name,
    traceId,
    spanId,
    parentSpanId,
    kind,
    status: status?.code,
    state: traceState,
    attributes,
  };
}

function valuesOf(attributes: { key: string; value: object }[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
