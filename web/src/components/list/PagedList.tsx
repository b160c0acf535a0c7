import { Center, type CenterProps } from '@mantine/core';
import type { ComponentProps } from 'react';
import { useTranslation } from 'react-i18next';
import { DataList, type Listed } from './DataList.tsx';
import { Empty } from './Empty.tsx';
import { Failure } from '../Failure.tsx';
import { PlainButton } from '../styles.ts';

export interface Paged<Row> {
  /** Undefined while loading. */
  rows: Row[] | undefined;
  error: Error | null;
  retry: () => void;
  more: (() => void) | null;
  isLoadingMore?: boolean;
}

/** A list that is loaded page by page: its rows, its error, or a text if it is empty. */
export function PagedList<Row>(
  props: Listed<Row> & {
    of: Paged<Row>;
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

/** Loads the next page of a list, if there is one. */
export function More({
  of: { more, isLoadingMore },
  ...place
}: CenterProps & { of: { more: (() => void) | null; isLoadingMore?: boolean } }) {
  const { t } = useTranslation('common');
  if (more === null) return null;
  return (
    <Center mt="md" {...place}>
      <PlainButton onClick={more} loading={isLoadingMore ?? false}>
        {t('more')}
      </PlainButton>
    </Center>
  );
}
