import type { UpstreamSettings } from '../core/catalog/upstream-definition.ts';
import type { ReplyEvent } from '../core/chat/reply.ts';
import type { Fetch } from '../lib/outbound/fetch.ts';
import { activeSpan, inSpan, type TraceSpan, type Tracer } from '../lib/trace.ts';
import type { ChatOutcome, StartOutcome, Upstream } from './upstream.ts';

/**
 * Spans of the paid calls of upstreams: chats and starts. They have the names of OpenTelemetry's
 * conventions for generative AI, and nothing that a caller or an upstream wrote.
 */

export interface Traces {
  tracer: Tracer;
  /** Whether the upstream with this name may see the trace context of calls. */
  tellsContext: (upstream: string) => boolean;
}

/** Calls at the upstream's own address note their status, and bring the context if they may. */
export function traceFetch(
  fetch: Fetch,
  { name, url }: Pick<UpstreamSettings, 'name' | 'url'>,
  { tellsContext }: Traces,
): Fetch {
  const { origin } = new URL(url);
  const tells = tellsContext(name);
  function headed<C extends Parameters<Fetch['request']>[0] | Parameters<Fetch['stream']>[0]>(
    call: C,
  ): C {
    const span = tells && new URL(call.url).origin === origin ? activeSpan() : undefined;
    return span ? { ...call, headers: { ...call.headers, ...span.headers() } } : call;
  }
  function noted<R extends { status: number }>(reply: R): R {
    activeSpan()?.note({ 'http.response.status_code': reply.status });
    return reply;
  }
  return {
    ...fetch,
    request: async (call) => noted(await fetch.request(headed(call))),
    stream: async (call) => noted(await fetch.stream(headed(call))),
  };
}

/**
 * Gives each start and chat of the upstream its span, below that of the step or the call that makes
 * it. A job that is not recorded has none, and a span without one would begin a trace of its own.
 */
export function traceUpstream(upstream: Upstream, { tracer }: Traces): void {
  const { name } = upstream;
  const start = upstream.start.bind(upstream);
  const chat = upstream.chat?.bind(upstream);
  function begin(operation: string, model: string, request_id: string) {
    if (activeSpan() === undefined) return undefined;
    return tracer.begin(`${operation} ${model}`, {
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': name,
        'gen_ai.request.model': model,
        'farebox.request_id': request_id,
      },
    });
  }
  upstream.start = (job) => {
    const span = begin('generate_content', job.model, job.request_id);
    return span ? inSpan(span, () => judged(span, () => start(job))) : start(job);
  };
  if (chat)
    upstream.chat = (call) => {
      const span = begin('chat', call.model, call.request_id);
      return span ? inSpan(span, () => replying(span, () => chat(call))) : chat(call);
    };
}

async function judged<O extends StartOutcome | ChatOutcome>(
  span: TraceSpan,
  call: () => Promise<O>,
) {
  try {
    const outcome = await call();
    span.note({ 'farebox.outcome': outcome.outcome });
    if (outcome.outcome !== 'reply') span.end(failureOf(outcome));
    return outcome;
  } catch (error) {
    span.end('lost');
    throw error;
  }
}

function failureOf(outcome: Exclude<StartOutcome | ChatOutcome, { outcome: 'reply' }>) {
  if (outcome.outcome === 'not_accepted') return outcome.why ?? 'busy';
  if (outcome.outcome === 'unknown') return outcome.answer ?? 'lost';
  return outcome.outcome === 'rejected' ? 'rejected' : undefined;
}

/** The span of a reply lasts until its last event. */
async function replying(span: TraceSpan, call: () => Promise<ChatOutcome>): Promise<ChatOutcome> {
  const outcome = await judged(span, call);
  return outcome.outcome === 'reply'
    ? { ...outcome, events: counted(span, outcome.events) }
    : outcome;
}

async function* counted(
  span: TraceSpan,
  events: AsyncIterable<ReplyEvent>,
): AsyncGenerator<ReplyEvent, void> {
  let failure: string | undefined = 'cut';
  try {
    for await (const event of events) {
      if (event.type === 'usage')
        span.note({
          'gen_ai.usage.input_tokens': event.usage.prompt_tokens,
          'gen_ai.usage.output_tokens': event.usage.completion_tokens,
        });
      yield event;
    }
    failure = undefined;
  } finally {
    span.end(failure);
  }
}
