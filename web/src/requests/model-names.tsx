import { useQuery } from '@tanstack/react-query';
import { modelsQuery } from '../studio/models.ts';

/** Names models by their ids; one that is not loaded, or no longer offered, by the id itself. */
export function useModelNames(): (id: string) => string {
  const { data } = useQuery(modelsQuery);
  return (id) => data?.find((model) => model.id === id)?.name ?? id;
}

/** The name of a model; hovering shows its id. */
export function ModelName({ id }: { id: string }) {
  return <span title={id}>{useModelNames()(id)}</span>;
}
