import { notice } from '../components/notice.ts';
import { useQueryClient } from '@tanstack/react-query';
import { call, type CallOptions } from '../api.ts';

/** A deed of the operator: what the pages show of it is read anew, the person's own menu too. */
export function useDeed() {
  const queries = useQueryClient();
  return async <T>(
    path: string,
    options: CallOptions,
    done?: string | ((answer: T) => string),
  ): Promise<T> => {
    const answer = await call<T>(`/api/operator${path}`, { method: 'POST', ...options });
    const message = typeof done === 'function' ? done(answer) : done;
    if (message !== undefined) notice({ message, color: 'fare' });
    void queries.invalidateQueries({ queryKey: ['operator'] });
    void queries.invalidateQueries({ queryKey: ['account'] });
    return answer;
  };
}
