import type { RevenueSum } from '../api-types.ts';
import type { Column } from '../components/DataList.tsx';
import { Usd } from '../components/text/Usd.tsx';

/** The figure columns shared by all revenue tables. */
export function sumColumns<Row extends RevenueSum>(t: (name: string) => string): Column<Row>[] {
  return [
    {
      name: 'revenue',
      label: t('revenue'),
      number: true,
      cell: (row) => <Usd micro={row.charged_usd_micro} column />,
    },
    {
      name: 'cost',
      label: t('cost'),
      number: true,
      cell: (row) => <Usd micro={row.cost_usd_micro} column />,
    },
    {
      name: 'margin',
      label: t('margin'),
      number: true,
      cell: (row) => <Usd micro={row.margin_usd_micro} column />,
    },
    {
      name: 'completed',
      label: t('completed'),
      number: true,
      cell: (row) => <span className="number">{row.completed}</span>,
    },
  ];
}
