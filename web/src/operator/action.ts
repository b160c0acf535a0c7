import { useMutation, useQueryClient } from '@tanstack/react-query';
import { argsOf, operatorApi, type CallArguments, type OperatorCalls, type Reply } from '../api.ts';
import { showFailure } from '../components/Failure.tsx';
import { notice } from '../components/frame/notice.ts';

/** Runs an operator's action, then reloads the console's data and the user's own. */
export function useAction() {
  const queries = useQueryClient();
  return async <R extends keyof OperatorCalls>(
    route: R,
    given: CallArguments<OperatorCalls, R>,
    done?: string | ((reply: Reply<OperatorCalls, R>) => string),
  ): Promise<Reply<OperatorCalls, R>> => {
    const reply = await operatorApi(route, ...argsOf<OperatorCalls, R>(given));
    const message = typeof done === 'function' ? done(reply) : done;
    if (message !== undefined) notice({ message, color: 'fare' });
    void queries.invalidateQueries({ queryKey: ['operator'] });
    void queries.invalidateQueries({ queryKey: ['account'] });
    return reply;
  };
}

/** The work of a button that asks nothing more: a failure is shown as a notice. */
export function usePress<Result>(work: () => Promise<Result>, done?: (result: Result) => void) {
  return useMutation({ mutationFn: work, onSuccess: done, onError: showFailure });
}
