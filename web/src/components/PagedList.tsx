import type { ReactNode } from 'react';
import { DataList, type Listed } from './DataList.tsx';
import { Empty } from './Empty.tsx';
import { Failure } from './Failure.tsx';
import { More } from './More.tsx';

export interface Paged<Row> {
  /** Undefined while loading. */
  rows: Row[] | undefined;
  error: Error | null;
  retry: () => void;
  more: (() => void) | null;
  isLoadingMore?: boolean;
}

/** A list that is loaded page by page: its rows, its error, or what is said of an empty one. */
export function PagedList<Row>(
  props: Listed<Row> & {
    of: Paged<Row>;
    empty: { icon: ReactNode; title: string; text: string };
  },
) {
  const { of, empty, ...listed } = props;
  return (
    <>
      {of.error && <Failure error={of.error} retry={of.retry} />}
      {of.rows?.length === 0 ? (
        <Empty {...empty} />
      ) : (
        !(of.error && !of.rows) && <DataList {...listed} rows={of.rows} />
      )}
      <More of={of} />
    </>
  );
}
