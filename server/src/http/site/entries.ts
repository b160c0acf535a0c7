/** The pages of docs/ that callers need. All others are for operators and are not served. */

export interface DocsPage {
  /** Its path below docs/, without the ending, and below /docs. */
  name: string;
  title: string;
  /** The only section that is for callers; otherwise the whole page is. */
  section?: string;
}

export const manual: Record<string, DocsPage[]> = {
  Guides: [
    { name: 'clients', title: 'Use what you have' },
    { name: 'client', title: 'Client library' },
    { name: 'fare', title: 'The fare command' },
    { name: 'mcp', title: 'Assistants (MCP)' },
    { name: 'fal-client', title: "fal's client" },
    { name: 'sandbox', title: 'Sandbox' },
  ],
  API: [
    { name: 'api', title: 'Overview' },
    { name: 'api/conventions', title: 'Conventions' },
    { name: 'api/models', title: 'Models' },
    { name: 'api/queue', title: 'Queue' },
    { name: 'api/requests', title: 'Requests' },
    { name: 'api/outputs', title: 'Outputs' },
    { name: 'api/webhooks', title: 'Webhooks' },
    { name: 'api/files', title: 'Files' },
    { name: 'api/images', title: 'Images' },
    { name: 'api/videos', title: 'Videos' },
    { name: 'api/fal', title: "fal's run" },
    { name: 'api/replicate', title: 'Predictions' },
    { name: 'api/chat', title: 'Chat' },
    { name: 'api/responses', title: 'Responses' },
    { name: 'api/messages', title: 'Messages' },
    { name: 'api/balance', title: 'Balance' },
    { name: 'api/deposits', title: 'Deposits' },
    { name: 'api/usage', title: 'Usage' },
    { name: 'api/keys', title: 'Keys' },
    { name: 'api/companions', title: 'Companions' },
    { name: 'api/health', title: 'Health' },
  ],
  Reference: [
    { name: 'errors', title: 'Errors' },
    { name: 'states', title: 'States' },
    { name: 'pricing', title: 'Prices' },
    { name: 'deposits', title: 'Credit of deposits', section: 'When is a deposit credited?' },
  ],
};

export const entries = Object.values(manual).flat();
