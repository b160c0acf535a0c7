import { readFileSync } from 'node:fs';

/** The address of the service in the committed document. */
export const documentedOrigin = 'http://localhost:8080';

/** A service has one address, so only the last text is kept. */
let kept: { baseUrl: string; text: string } | undefined;

/** The committed document with the addresses of this service. `baseUrl` ends in /v1. */
export function openapiText(baseUrl: string): string {
  if (kept?.baseUrl === baseUrl) return kept.text;
  const committed = readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8');
  const origin = JSON.stringify(baseUrl.replace(/\/v1$/, '')).slice(1, -1);
  const text = committed.replaceAll(documentedOrigin, () => origin);
  kept = { baseUrl, text };
  return text;
}
