import { useQuery } from '@tanstack/react-query';
import { modelsQuery } from '../studio/models.ts';

/** Names models by their ids; one that is not loaded, or no longer offered, by the id itself. */
export function useModelNames(): (id: string) => string {
  const { data } = useQuery(modelsQuery);
  return (id) => data?.find((model) => model.id === id)?.name ?? id;
}
