/** The pages of docs/ that callers need. All others are for operators and are not served. */

export interface Entry {
  /** The name of its file, and of its address. */
  name: string;
  title: string;
  /** The only section that is for callers; otherwise the whole page is. */
  section?: string;
}

export const manual: Record<string, Entry[]> = {
  Guides: [
    { name: 'clients', title: 'Use what you have' },
    { name: 'client', title: 'Client library' },
    { name: 'fare', title: 'The fare command' },
    { name: 'mcp', title: 'Assistants (MCP)' },
    { name: 'fal-client', title: "fal's client" },
    { name: 'sandbox', title: 'Sandbox' },
  ],
  Reference: [
    { name: 'api', title: 'API' },
    { name: 'errors', title: 'Errors' },
    { name: 'states', title: 'States' },
    { name: 'pricing', title: 'Prices' },
    { name: 'deposits', title: 'Deposits', section: 'When is a deposit credited?' },
  ],
};

export const entries = Object.values(manual).flat();
