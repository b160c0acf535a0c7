import type { Column } from '../components/DataList.tsx';
import { Usd } from '../components/Usd.tsx';
import type { Verdict } from './Books.tsx';

/** What the overview is told, and how tables show sums. */

export interface Sum {
  name: string;
  completed: number;
  failed: number;
  charged_usd_micro: string;
  cost_usd_micro: string;
  margin_usd_micro: string;
  /** How many ran, or may have, at a cost that nobody knows. */
  uncosted: number;
}

export type Day = Sum & { new_accounts: number };

export interface Figures {
  totals: Sum;
  by_day: Day[];
  by_kind: Sum[];
  by_model: Sum[];
  by_upstream: Sum[];
  top_accounts: (Sum & { account_id: string; email: string })[];
  available_usd_micro: string;
  reserved_usd_micro: string;
  accounts: number;
  books: Verdict | null;
}

/** The columns of figures that every table of sums has. */
export function sumColumns<Row extends Sum>(t: (name: string) => string): Column<Row>[] {
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
