import { isFinal } from '../../../client/src/watch.ts';
import { useAccountQuery } from '../queries.ts';

/**
 * How often an open request is reloaded, because no event reports a change of its progress or its
 * queue position.
 */
const lookMs = 2_000;

/** One request of the account in full; of an undefined id, nothing. */
export function useRequest(request_id: string | undefined) {
  return useAccountQuery(
    'GET /requests/:request_id',
    { params: { request_id: request_id ?? '' } },
    {
      enabled: request_id !== undefined,
      refetchInterval: ({ state }) => (state.data && !isFinal(state.data) ? lookMs : false),
    },
  );
}
