import type { ComponentProps } from 'react';
import { DataList, type DataListProps } from './DataList.tsx';
import { Empty } from './Empty.tsx';
import { Failure } from '../Failure.tsx';
import { More } from './More.tsx';

export interface PagedRows<Row> {
  /** Undefined while loading. */
  rows: Row[] | undefined;
  error: Error | null;
  retry: () => void;
  more: (() => void) | null;
  isLoadingMore?: boolean;
}

/** A list that is loaded page by page: its rows, its error, or a text if it is empty. */
export function PagedList<Row>(
  props: DataListProps<Row> & {
    of: PagedRows<Row>;
    empty: ComponentProps<typeof Empty>;
  },
) {
  const { of, empty, ...listed } = props;
  const { rows, error, retry } = of;
  return (
    <>
      {error && <Failure error={error} retry={retry} />}
      {rows?.length === 0 && !error && <Empty {...empty} />}
      {(rows ? rows.length > 0 : !error) && <DataList {...listed} rows={rows} />}
      <More of={of} />
    </>
  );
}
