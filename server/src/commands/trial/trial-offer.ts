/** The models that a trial offers, and who pays for them. Pure. */

import type { Model } from '../../core/catalog/catalog.ts';
import { keyHeader, shellWord } from '../../core/snippets.ts';

export interface Offer {
  /** Number of live rows that only the sandbox serves, and of all other live rows. */
  models: { sandbox: number; other: number };
  /** Outside services that serve live rows. */
  upstreams: string[];
  /** A first request; null if no row is live. */
  try_it: Attempt | null;
}

export interface Attempt {
  model_id: string;
  url: string;
  body: object;
}

export function offerOf(live: Iterable<Model>, baseUrl: string): Offer {
  const rows = [...live];
  const sandbox = rows.filter((row) => outside(row).length === 0);
  const others = rows.filter((row) => outside(row).length > 0);
  const first = firstOf(sandbox) ?? firstOf(others);
  return {
    models: { sandbox: sandbox.length, other: others.length },
    upstreams: [...new Set(others.flatMap(outside))].sort(),
    try_it: first === undefined ? null : attempt(first, baseUrl),
  };
}

/** The first lines of the welcome: the models, and who pays for them. */
export function headline({ models, upstreams }: Offer): string {
  const sandbox = counted(models.sandbox, 'sandbox model');
  if (upstreams.length === 0 && models.sandbox > 0)
    return `Farebox is ready: ${sandbox}, no outside service, no real money.`;
  if (upstreams.length === 0)
    return 'Farebox is ready, but no model can be used: "farebox catalog check" says why.';
  const names = upstreams.join(', ');
  return (
    `Farebox is ready: ${sandbox}, and ${counted(models.other, 'model')} at ${names}.\n` +
    `  Careful: the demo account's play money spends your real credit at ${names}.`
  );
}

/** A command for a shell that has the key in FAREBOX_API_KEY. */
export function command({ url, body }: Attempt): string {
  return String.raw`curl -s ${url} \
      ${keyHeader} -H 'Content-Type: application/json' \
      -d ${shellWord(JSON.stringify(body))}`;
}

function outside({ upstreams }: Model): string[] {
  return upstreams.map(({ upstream }) => upstream).filter((name) => name !== 'sandbox');
}

/**
 * Picks a model for the first request. An image is quick and cheap. A row whose example contains
 * file addresses comes last, because these stand for the caller's own files.
 */
function firstOf(rows: Model[]): Model | undefined {
  const media = rows.filter(({ kind }) => kind !== 'text');
  const whole = media.filter(({ example }) => !JSON.stringify(example).includes('://'));
  const image = whole.find(({ task }) => task === 'text-to-image');
  return image ?? whole[0] ?? rows.find(({ kind }) => kind === 'text') ?? media[0];
}

function attempt({ id, kind, example }: Model, baseUrl: string): Attempt {
  if (kind !== 'text') return { model_id: id, url: `${baseUrl}/queue/${id}`, body: example };
  return { model_id: id, url: `${baseUrl}/chat/completions`, body: { model: id, ...example } };
}

function counted(count: number, thing: string): string {
  return `${count === 0 ? 'no' : count} ${thing}${count === 1 ? '' : 's'}`;
}
