import type { Catalog, Model } from '../../core/catalog/catalog.ts';
import { programs } from '../../core/snippets.ts';
import { cheapestOf } from '../docs/guide-text.ts';
import { codeBlock } from './code.ts';
import { escape, link } from './frame.ts';

/** The quick start, with the cheapest models of the catalog, because readers run what they read. */
export function startBody(catalog: Catalog, baseUrl: string): string {
  const { media, chat } = cheapestOf([...catalog.models.values()]);
  const parts = [
    media &&
      `<h2 id="media">Make an image or a video</h2>
<p>A submit reserves the price and queues the job. Wait until it has ended, then read the output.
A job that fails, or is cancelled before it runs, costs nothing. Choose a new Idempotency-Key for
every job: a job that is sent twice with the same key runs and costs once.</p>
${codeOf(media, baseUrl)}`,
    chat &&
      `<h2 id="chat">Chat</h2>
<p>The call is OpenAI's chat completions: its clients work with this address and your key.</p>
${codeOf(chat, baseUrl)}`,
  ];
  return `<h1>Quick start</h1>
<p>One API key, one USDT balance, and every model behind it. A job's price is known and reserved
before it starts.</p>
<ol>
<li>${link('/dashboard/keys', 'Create a key')} in the dashboard, and
${link('/dashboard/money/top-up', 'top up')} if the balance is empty.</li>
<li>${link('/models', 'Choose a model')}. Each has a page with its price, inputs and code.</li>
<li>Give your programs the key and the address of this service:</li>
</ol>
${codeBlock(`export FAREBOX_API_KEY=fbx_...\nexport FAREBOX_BASE_URL=${baseUrl}`, 'sh')}
${parts.filter((part) => part !== undefined).join('\n')}
<h2 id="next">Next</h2>
<p>${link('/docs/clients', 'Use what you have')}: OpenAI's SDKs, the AI SDK, Codex, Claude Code and
others. ${link('/docs/clients#openais-sdk', 'Stream a reply')}.
${link('/docs/api/webhooks', 'Be called back')} when a job has ended.
${link('/docs/api', 'The API')} has every call, ${link('/docs/errors', 'Errors')} says what to do
about each error.
Language models read ${link('/llms.txt', '/llms.txt')}.</p>`;
}

/** Programs that call the model with its example, each below a heading. */
export function codeOf({ id, kind, example }: Model, base_url: string): string {
  return Object.entries(programs({ base_url, model_id: id, kind, input: example }))
    .map(([language, text]) => `<h3>${escape(language)}</h3>\n${codeBlock(text, language)}`)
    .join('\n');
}
