import { hash } from 'node:crypto';
import type { Catalog } from '../../core/catalog/catalog.ts';
import type { MailDeps, RequestDeps } from '../deps.ts';
import { guideText } from '../docs/guide-text.ts';
import { sendCached } from './cached.ts';
import { openEndpoint } from '../endpoint.ts';

/** The guide for one version of the catalog, made once. */
interface RenderedGuide {
  baseUrl: string;
  text: string;
  etag: string;
}

const rendered: WeakMap<Catalog, RenderedGuide> = new WeakMap();

/** GET /llms.txt */
export const guide = openEndpoint({}, async ({ req, reply }, deps: RequestDeps & MailDeps) => {
  const { text, etag } = render(deps);
  return sendCached(req, reply, { etag, type: 'text/plain; charset=utf-8', body: text });
});

function render({
  catalog,
  links: { baseUrl },
  settings,
  origin,
}: RequestDeps & MailDeps): RenderedGuide {
  const current = catalog();
  const known = rendered.get(current);
  if (known?.baseUrl === baseUrl) return known;
  const text = guideText(current, {
    baseUrl,
    site: settings.FAREBOX_WEB ? origin() : null,
  });
  // The tag is made from the text, not from the catalog: a newer server may word the text
  // differently.
  const made = { baseUrl, text, etag: `"${hash('sha256', text, 'hex').slice(0, 24)}"` };
  rendered.set(current, made);
  return made;
}
