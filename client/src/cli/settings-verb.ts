import { formatUsd, parseUsd } from '../index.ts';
import { open } from './account.ts';
import { demandTextModel } from './chat.ts';
import { usage } from './exits.ts';
import type { Context } from './verb.ts';
import {
  connection,
  readSettings,
  settingsPath,
  usualAskAboveUsd,
  writeSettings,
  type Settings,
} from './settings.ts';
import { print, printFields, printJson } from './terminal/terminal.ts';

type Name = 'ask_above_usd' | 'max_usd' | 'chat_model';
const names: Name[] = ['ask_above_usd', 'max_usd', 'chat_model'];

export async function settings(
  { json, quiet }: Context,
  name: string | undefined,
  value: string | undefined,
): Promise<void> {
  const kept = readSettings();
  if (name === undefined) return show(kept, json);
  const field = names.find((each) => each === name.replaceAll('-', '_'));
  if (!field) throw usage(`There is no setting ${name}.`, `The settings are ${shownNames()}.`);
  if (value === undefined) {
    if (json) printJson({ [field]: kept[field] ?? null });
    else print(kept[field] ?? 'none');
    return;
  }
  const changed: Settings = { ...kept };
  if (field === 'chat_model' && value !== 'none') await demandTextModel(open({ quiet }), value);
  if (value === 'none') delete changed[field];
  else changed[field] = field === 'chat_model' ? value : amountOf(value);
  writeSettings(changed);
  if (json) printJson({ [field]: changed[field] ?? null });
}

function amountOf(text: string): string {
  if (!/^\$?\d{1,9}(\.\d{1,6})?$/.test(text))
    throw usage(`${JSON.stringify(text)} is not an amount in USD, such as 0.50.`);
  return formatUsd(parseUsd(text)).slice(1);
}

function shownNames(): string {
  return names.map((name) => name.replaceAll('_', '-')).join(', ');
}

/** Shows the settings, never the key. */
function show(kept: Settings, json: boolean): void {
  const { baseUrl, apiKey } = connection();
  const has_key = apiKey !== null;
  const { ask_above_usd = usualAskAboveUsd, max_usd = null, chat_model = null } = kept;
  if (json) return printJson({ base_url: baseUrl, has_key, ask_above_usd, max_usd, chat_model });
  const key = process.env.FAREBOX_API_KEY ? 'from FAREBOX_API_KEY' : 'kept';
  printFields([
    ['file', settingsPath()],
    ['address', baseUrl],
    ['key', has_key ? key : 'none'],
    ['ask-above-usd', ask_above_usd],
    ['max-usd', max_usd ?? 'none'],
    ['chat-model', chat_model ?? 'none'],
  ]);
}
