import { Farebox, formatUsd } from '../index.ts';
import { askSecret, askText } from './terminal/ask.ts';
import { exits, Stop, usage } from './exits.ts';
import { stopOf } from './failure.ts';
import type { Context } from './verb.ts';
import { baseUrlOf, readSettings, settingsPath, usualBaseUrl, writeSettings } from './settings.ts';
import { canAsk, oneLine, print, printJson, remark, tell } from './terminal/terminal.ts';
import { readStdin } from './text.ts';

export async function login(
  { json, quiet }: Context,
  options: { keyStdin?: boolean; baseUrl?: string },
): Promise<void> {
  const kept = readSettings();
  const isAsked = !options.keyStdin;
  if (isAsked && !canAsk())
    throw usage(
      'This terminal cannot ask for the key.',
      'Pipe it in: fare login --key-stdin < key.txt',
    );
  const usual = process.env.FAREBOX_BASE_URL || kept.base_url || usualBaseUrl;
  const address =
    options.baseUrl ?? (isAsked ? await askText('Address of the service', usual) : usual);
  const baseUrl = baseUrlOf(address);
  warnOfPlainHttp(baseUrl);
  const apiKey = (isAsked ? await askSecret('API key') : await readStdin()).trim();
  if (!/^[!-~]+$/.test(apiKey))
    throw usage('That is not a key: a key is one word that begins with fbx_.');
  const found = await new Farebox({ baseUrl, apiKey }).balance().catch(async (error: unknown) => {
    throw (await stopOf(error, baseUrl)) ?? error;
  });
  writeSettings({ ...kept, base_url: baseUrl, api_key: apiKey });
  if (json) printJson({ base_url: baseUrl, ...found });
  else {
    print(`Signed in to ${baseUrl} with the key "${oneLine(found.key.name)}".`);
    print(`${formatUsd(found.available_usd_micro)} can be spent.`);
    remark(quiet, `Saved to ${settingsPath()} (readable only by you).`);
  }
  for (const name of ['FAREBOX_API_KEY', 'FAREBOX_BASE_URL'])
    if (process.env[name]) tell(`${name} is set and is used instead of the saved value.`);
}

function warnOfPlainHttp(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname))
    tell(`Without https, others can read the key on its way to ${hostname}.`);
}

export async function logout({ json }: Context): Promise<void> {
  const { api_key, ...rest } = readSettings();
  if (api_key === undefined) throw new Stop(exits.failed, 'no_key', 'No key is saved.');
  writeSettings(rest);
  if (json) printJson({ base_url: rest.base_url ?? null });
  else print('Signed out. If the key may have leaked, revoke it in the dashboard.');
}
