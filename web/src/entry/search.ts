/** The query that links to the pages before sign-in may carry. */
export const entrySearch = (given: Record<string, unknown>) => ({
  to: text(given.to),
  token: text(given.token),
  error: text(given.error),
  confirmed: text(given.confirmed),
});

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
