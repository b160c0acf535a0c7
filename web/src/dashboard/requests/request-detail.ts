import { isFinal } from '../../../../client/src/watch.ts';
import { useAccountQuery } from '../../queries.ts';

/**
 * How often an open request is reloaded, because no event reports a change of its queue position.
 */
const lookMs = 5_000;

export function useRequest(request_id: string) {
  return useAccountQuery(
    'GET /requests/:request_id',
    { params: { request_id } },
    { refetchInterval: ({ state }) => (state.data && !isFinal(state.data) ? lookMs : false) },
  );
}
