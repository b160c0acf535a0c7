import { type Column, column } from '../components/list/DataList.tsx';
import type { RevenueSum } from '../api-types.ts';

/** The figure columns shared by all revenue tables. */
export function sumColumns<Row extends RevenueSum>(t: (name: string) => string): Column<Row>[] {
  return [
    column.usd(t('revenue'), (row) => row.charged_usd_micro),
    column.usd(t('cost'), (row) => row.cost_usd_micro),
    column.usd(t('common:margin'), (row) => row.margin_usd_micro),
    column.count(t('completed'), (row) => row.completed),
  ];
}
