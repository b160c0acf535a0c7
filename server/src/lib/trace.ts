import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Spans: stretches of work that belong to one trace, from a caller to an upstream. While traces are
 * off nobody begins one, and all of this does nothing.
 */

/** The standard's names of the rules by which traces are recorded. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

/** Ids, names and numbers, and nothing that a caller wrote. Undefined ones are left out. */
export type Attributes = Record<string, string | number | boolean | undefined>;

/** The place in a trace from which a span continues, as W3C Trace Context writes it. */
export interface TraceContext {
  traceparent?: string | undefined;
  tracestate?: string | undefined;
}

export interface SpanStart {
  /** The side of a call that this is; `internal`: neither. */
  kind: 'server' | 'client' | 'internal';
  /**
   * The span that it continues. `from`: another service's span, whose decision to record it is a
   * wish. Left out: the active span.
   */
  parent?: { from: TraceContext } | { own: string };
  attributes: Attributes;
}

export interface TraceSpan {
  /** The fields of its log lines. */
  ids: { trace_id: string; span_id: string };
  /** Its context for work that goes on elsewhere; null if it is not recorded. */
  recorded(): string | null;
  /** Headers that let another service continue it. */
  headers(): Record<string, string>;
  note(attributes: Attributes): void;
  /** Sends it, once. One that never ends is never sent. `error`: what failed, in a word. */
  end(error?: string): void;
}

export interface Tracer {
  begin(name: string, start: SpanStart): TraceSpan;
  /** Sends the spans that wait, within this time. Default: a second. */
  close(withinMs?: number): Promise<void>;
}

const active = new AsyncLocalStorage<TraceSpan | undefined>();

/** The span to which the running code belongs. */
export function activeSpan(): TraceSpan | undefined {
  return active.getStore();
}

/** Does the work as a part of the span, and all that it begins. */
export function inSpan<T>(span: TraceSpan, work: () => T): T {
  return active.run(span, work);
}

/** Does work that outlives the call which happens to begin it, or is for several calls. */
export function outsideSpans<T>(work: () => T): T {
  return activeSpan() === undefined ? work() : active.run(undefined, work);
}

/** The same work as a part of the span that is active now. */
export function keepingSpan(work: () => void): () => void {
  const span = activeSpan();
  return span === undefined ? work : () => inSpan(span, work);
}
