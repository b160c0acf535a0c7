import { type Column, countColumn, usdColumn } from '../components/list/DataList.tsx';
import type { RevenueSum } from '../api-types.ts';

/** The figure columns shared by all revenue tables. */
export function sumColumns<Row extends RevenueSum>(t: (name: string) => string): Column<Row>[] {
  return [
    usdColumn(t('revenue'), (row) => row.charged_usd_micro),
    usdColumn(t('cost'), (row) => row.cost_usd_micro),
    usdColumn(t('common:margin'), (row) => row.margin_usd_micro),
    countColumn(t('completed'), (row) => row.completed),
  ];
}
