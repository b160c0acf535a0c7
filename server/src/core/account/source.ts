/** The origin of a deposit's money. Statements show a sum for each source. */
export const sources = ['paid', 'chain', 'voucher', 'bonus', 'refund'] as const;
export type Source = (typeof sources)[number];

/** The sources that an operator can name; the others belong to operations of their own. */
export const bookedSources = ['paid', 'bonus', 'refund'] as const satisfies readonly Source[];
export type BookedSource = (typeof bookedSources)[number];
