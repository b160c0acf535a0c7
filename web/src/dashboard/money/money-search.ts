/** The queries of the overview and the statement. */

export const periods = [7, 30, 90] as const;

export interface SpendSearch {
  days?: (typeof periods)[number];
  by?: 'model';
  view?: 'table';
}

export function spendSearch(given: Record<string, unknown>): SpendSearch {
  const days = periods.find((each) => each === Number(given.days));
  return {
    ...(days && { days }),
    ...(given.by === 'model' && { by: given.by }),
    ...(given.view === 'table' && { view: given.view }),
  };
}

/** `back`: the page of the studio that was left to top up. */
export function topUpSearch({ back }: Record<string, unknown>): { back?: string } {
  return typeof back === 'string' && /^\/studio(?:[/?]|$)/.test(back) ? { back } : {};
}

export const kinds = [
  'deposit',
  'adjustment',
  'charge',
  'reserve',
  'release',
  'debt',
  'expiry',
] as const;

/** Days of the user's local calendar, both inclusive. Without `from`, from the beginning. */
export interface StatementSearch {
  kind?: string;
  from?: string;
  to?: string;
  /** Shows every transfer, instead of one line per request. */
  view?: 'ledger';
}

export function statementSearch(given: Record<string, unknown>): StatementSearch {
  const kind = kinds
    .filter((each) =>
      String(given.kind ?? '')
        .split(',')
        .includes(each),
    )
    .join(',');
  const from = dayOf(given.from);
  const to = dayOf(given.to);
  const isLedger = given.view === 'ledger' || kind !== '';
  return {
    ...(isLedger && { view: 'ledger' as const }),
    ...(kind && { kind }),
    ...(from && { from }),
    ...(to && { to }),
  };
}

/** The first moment of a local day, or of the day `later` days after it. */
export function midnight(day: string, later = 0): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  // Only this form finds the first moment of a day on which clocks change at midnight.
  return new Date(year, month - 1, date + later).toISOString();
}

export function dayOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  // Browsers may parse 30 February as 2 March; the service refuses it.
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isFinite(day.getTime()) && day.toISOString().startsWith(text) ? text : undefined;
}
