import { readCompletionsCall } from '../../src/core/apis/completions/read-call.ts';
import type { Model, ModelUpstream } from '../../src/core/catalog/catalog.ts';
import { price } from '../../src/core/price/price.ts';
import type { EndTransition } from '../../src/core/request/request.ts';
import { createBudget } from '../../src/lib/budget.ts';
import type { ChatRun } from '../../src/operations/requests/call-routes.ts';
import type { ChatDeps } from '../../src/operations/requests/run-chat.ts';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { fakeCatalog } from '../kit/service.ts';

/** One row bills the whole reply, the other one what was delivered. */
export const chatRows = ['fake/drain/chat', 'fake/chat'];

/** A reserved chat of a row of the fake catalog. */
export function runOf(
  id: string,
  more: Pick<ChatRun, 'keep' | 'hasLeft'> & { stream?: boolean },
): ChatRun {
  const { stream, ...rest } = more;
  const row = parseCatalogText(fakeCatalog, 'fake.yaml').rows.find((each) => each.id === id);
  const model = row as unknown as Model;
  const body = { model: id, stream, messages: [{ role: 'user', content: 'hello' }] };
  return {
    request_id: 'r',
    account_id: 'a',
    key_id: 'k',
    call: readCompletionsCall(body),
    body,
    model,
    files: {},
    routes: [{ upstream: 'fake', model: 'chat', cost_usd_micro: null } as ModelUpstream],
    quote: price(model, { input_tokens: 1_000, output_tokens: 100 }),
    max_tokens: 100,
    // A repeat with the same Idempotency-Key may ask for the reply.
    isAwaited: () => true,
    created: 1,
    ...rest,
  };
}

/** Dependencies of `runChat` with this upstream; `ends` are the transitions that it asks for. */
export function depsOf(
  upstream: object,
  more: { circuit: object; cutoff?: AbortSignal },
): { deps: ChatDeps; ends: EndTransition[] } {
  const ends: EndTransition[] = [];
  const deps = {
    upstreams: new Map([['fake', upstream]]),
    inputBytes: createBudget(1_000, null),
    drains: createBudget(0, null),
    operations: {
      async end(ending: EndTransition) {
        ends.push(ending);
        return new Date();
      },
    },
    cutoff: new AbortController().signal,
    log: { debug() {} },
    ...more,
  } as unknown as ChatDeps;
  return { deps, ends };
}
