import type { Model, ModelUpstream } from '../../core/catalog/catalog.ts';
import { ApiError } from '../../core/errors.ts';
import { routesInOrder } from '../../core/request/routing.ts';
import type { Circuit } from './circuit.ts';
import type { QueueClosure, QueueView } from './queue-view.ts';

/** The routes that a new request may take. */
export interface RouteChoice {
  /** In the order in which they are tried; never empty. */
  routes: readonly ModelUpstream[];
  /** Why no route accepts the request now, if none does; `routes` then lists all of them. */
  refusal: ApiError | null;
}

export interface RouteDeps {
  queue: QueueView;
  circuit: Pick<Circuit, 'isLast'>;
  /** Fires when the process begins to shut down. */
  draining: AbortSignal;
  /** Why this process accepts nothing new; null if it accepts work. Chat needs no storage. */
  blocked: (needsStorage: boolean) => string | null;
}

/** The routes of a model that accept work now, or why none does (503). */
export async function chooseRoutes(
  model: Model,
  account_id: string,
  deps: RouteDeps,
): Promise<RouteChoice> {
  const routes = routesInOrder(model.upstreams, Math.random());
  const refusal = closedHere(deps, model.kind !== 'text');
  if (refusal) return { routes, refusal };
  const open: ModelUpstream[] = [];
  const closed: QueueClosure[] = [];
  for (const route of routes) {
    const { upstream } = route;
    const wanted = { model_id: model.id, upstream, model: route.model, account_id };
    const why = await deps.queue.findClosed(wanted);
    if (why === null) open.push(route);
    else closed.push(why);
  }
  const stop = closed.find(({ stopped }) => stopped);
  if (stop?.stopped) return { routes, refusal: stoppedByOperator(stop.stopped.note, stop.cause) };
  if (open.length > 0) {
    const isLast = (route: ModelUpstream) => deps.circuit.isLast(account_id, route);
    const inOrder = open.toSorted((one, other) => Number(isLast(one)) - Number(isLast(other)));
    return { routes: inOrder, refusal: null };
  }
  const seconds = Math.min(...closed.map((each) => each.seconds));
  const causes = new Set(closed.map((each) => each.cause));
  return { routes, refusal: noCapacity([...causes].join(', '), seconds) };
}

function noCapacity(cause: string, seconds: number): ApiError {
  return new ApiError('capacity_unavailable', {
    message:
      'The models behind this id have no capacity at the moment. Nothing was charged; retry with backoff.',
    headers: { 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
    cause,
  });
}

/** Trying again does not help until the operator sells the model again. */
function stoppedByOperator(note: string | null, cause: string): ApiError {
  const why = note === null ? '' : `: ${note.replace(/[.\s]+$/, '')}`;
  return new ApiError('capacity_unavailable', {
    message:
      `The operator has stopped this model${why}. Nothing was charged; use another model, or ` +
      'try again when GET /v1/models shows it as live.',
    reason: 'stopped',
    details: { status_note: note },
    cause,
  });
}

/** Why this process accepts nothing new, whatever the upstreams' state; null if it accepts work. */
function closedHere({ draining, blocked }: RouteDeps, needsStorage: boolean): ApiError | null {
  if (draining.aborted) {
    return new ApiError('capacity_unavailable', {
      message: 'This server is about to stop. Send the request again.',
    });
  }
  const why = blocked(needsStorage);
  // guard: not-ready-takes-nothing (off: true)
  return why === null ? null : new ApiError('capacity_unavailable', { cause: `not ready: ${why}` });
}
