import { shownSettings } from '../shown-settings.ts';
import { table, type Context, type CommandOutput } from './output.ts';

/** The settings that a service would find in this environment. */
export async function showSettings(
  { all = false }: { all?: boolean },
  { config }: Context,
): Promise<CommandOutput> {
  const data = shownSettings(config);
  const rows = data.filter(({ from }) => all || from !== 'default');
  const text = table(rows, {
    NAME: 'name',
    VALUE: ({ value, secret, set }) => (secret && set ? '(secret)' : value),
    FROM: 'from',
  });
  const rest = `\n${data.length - rows.length} others have their default. --all shows them.`;
  return { json: { data }, text: rows.length < data.length ? text + rest : text };
}
