import type { Context } from '@opentelemetry/api';
import type { ExportResult } from '@opentelemetry/core';
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace';
import { isSuccess, type Fetch } from './outbound/fetch.ts';
import {
  activeSpan,
  outsideSpans,
  type Attributes,
  type SamplerName,
  type SpanStart,
  type Tracer,
} from './trace.ts';
import { errorOf } from './unknown.ts';
import { withTimeout } from './with-timeout.ts';

/** Traces by OpenTelemetry, whose packages are loaded by `openTracer` and nowhere else. */

export interface TracerOptions {
  /** Where spans are sent: OTLP over HTTP, as JSON. */
  url: string;
  headers: Record<string, string>;
  /** Attributes of this process. */
  resource: Record<string, string>;
  sampler: SamplerName;
  /** The part of the traces that a sampler with a ratio records, from 0 to 1. */
  ratio: number;
  /** How long spans are gathered before they are sent. */
  gatherMs: number;
  fetch: Pick<Fetch, 'request'>;
  /** Called for each batch that could not be sent, and is lost. */
  onError: (error: unknown) => void;
}

const sendMs = 10_000;
const lastMs = 1_000;
/** Some megabytes. While so many wait, further ones are dropped. */
const waitingMax = 4_096;
const batchMax = 512;
const textMax = 256;
const answerBytes = 16 * 1024;

type Spans = Parameters<SpanExporter['export']>[0];
type Otel = Awaited<ReturnType<typeof load>>;

async function load() {
  const [api, core, sdk, resources, otlp] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/otlp-transformer'),
  ]);
  return { api, core, sdk, resources, otlp };
}

/**
 * Opens the tracer of this process. Nothing is registered globally: libraries that look for a
 * global tracer would write what they like into spans, such as addresses of people.
 */
export async function openTracer(options: TracerOptions): Promise<Tracer> {
  const otel = await load();
  const { api, sdk } = otel;
  const provider = new sdk.TracerProvider({
    resource: otel.resources.resourceFromAttributes(options.resource),
    sampler: samplerOf(options, otel),
    spanLimits: { attributeValueLengthLimit: textMax },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: exporterTo(options, otel),
        maxQueueSize: waitingMax,
        maxExportBatchSize: batchMax,
        scheduledDelayMillis: options.gatherMs,
        exportTimeoutMillis: sendMs,
      }),
    ],
  });
  const tracer = provider.getTracer('farebox');
  const w3c = new otel.core.W3CTraceContextPropagator();
  const contexts = new WeakMap<object, Context>();
  const kinds = { internal: 0, server: 1, client: 2 } satisfies Record<SpanStart['kind'], number>;

  function contextAbove(parent: SpanStart['parent']): Context {
    if (parent === undefined) return contexts.get(activeSpan() ?? {}) ?? api.ROOT_CONTEXT;
    const isOwn = 'own' in parent;
    const carrier = isOwn ? { traceparent: parent.own } : parent.from;
    const found = w3c.extract(api.ROOT_CONTEXT, carrier, api.defaultTextMapGetter);
    const place = api.trace.getSpanContext(found);
    if (!isOwn || place === undefined) return found;
    // The decision to record it was our own.
    return api.trace.setSpanContext(found, { ...place, isRemote: false });
  }

  return {
    begin(name, { kind, parent, attributes }) {
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, contextAbove(parent));
      const context = api.trace.setSpan(api.ROOT_CONTEXT, span);
      const { traceId: trace_id, spanId: span_id } = span.spanContext();
      const headers = () => {
        const written: Record<string, string> = {};
        w3c.inject(context, written, api.defaultTextMapSetter);
        return written;
      };
      const made = {
        ids: { trace_id, span_id },
        recorded: () => (span.isRecording() ? headers().traceparent! : null),
        headers,
        note: (facts: Attributes) => void span.setAttributes(facts),
        end(error?: string) {
          if (error !== undefined)
            span.setAttribute('error.type', error).setStatus({ code: api.SpanStatusCode.ERROR });
          // Otherwise the timer that sends it would belong to this trace.
          outsideSpans(() => span.end());
        },
      };
      contexts.set(made, context);
      return made;
    },
    async close(withinMs = lastMs) {
      // Failures have been told.
      await withTimeout(provider.shutdown(), withinMs).catch(() => {});
    },
  };
}

/** Throws if the collector does not take them. */
export async function sendSpans(
  { url, headers, fetch }: Pick<TracerOptions, 'url' | 'headers' | 'fetch'>,
  body: Uint8Array,
): Promise<void> {
  const { status } = await fetch.request({
    url,
    method: 'POST',
    headers: { 'user-agent': 'farebox', ...headers, 'content-type': 'application/json' },
    body,
    maxBytes: answerBytes,
    timeoutMs: sendMs,
  });
  if (!isSuccess(status)) throw new Error(`the receiver answered ${status}`);
}

/** A batch that is not taken is lost: the next ones need the memory. */
function exporterTo({ onError, ...collector }: TracerOptions, otel: Otel): SpanExporter {
  const { SUCCESS, FAILED } = otel.core.ExportResultCode;
  async function report(spans: Spans, done: (result: ExportResult) => void): Promise<void> {
    try {
      await sendSpans(collector, otel.otlp.JsonTraceSerializer.serializeRequest(spans)!);
    } catch (error) {
      onError(error);
      return done({ code: FAILED, error: errorOf(error) });
    }
    done({ code: SUCCESS });
  }
  return { export: (spans, done) => void report(spans, done), shutdown: async () => {} };
}

/**
 * Decides for the first span of this service in a trace; its other spans follow it. Only the
 * samplers whose names begin with `parentbased_` believe another service's wish. The others draw,
 * so that neither that wish nor a trace id, which callers choose, decides.
 */
function samplerOf({ sampler, ratio }: TracerOptions, { sdk }: Otel): Sampler {
  const { RECORD_AND_SAMPLED, NOT_RECORD } = sdk.SamplingDecision;
  const part = sampler.endsWith('_on') ? 1 : sampler.endsWith('_off') ? 0 : ratio;
  const root = {
    shouldSample: () => ({ decision: Math.random() < part ? RECORD_AND_SAMPLED : NOT_RECORD }),
  };
  const believes = sampler.startsWith('parentbased_');
  const others = believes ? {} : { remoteParentSampled: root, remoteParentNotSampled: root };
  return new sdk.ParentBasedSampler({ root, ...others });
}
