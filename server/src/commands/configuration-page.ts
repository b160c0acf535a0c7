import { chainSettings, settings, type Setting } from '../config.ts';

/** The contents of `docs/configuration.md`. */
export function configurationPage(): string {
  const all: [string, Setting<unknown>][] = Object.entries(settings);
  const after = all.findIndex(([name]) => name === 'FAREBOX_CHAINS') + 1;
  all.splice(after, 0, ...Object.entries(chainSettings));
  const rows = all.map(([name, setting]) => {
    const shown =
      setting.default === null
        ? 'unset'
        : setting.default === ''
          ? 'none'
          : `\`${setting.default}\``;
    return `| \`${name}\` | ${shown} | ${setting.says}${setting.secret ? ' Secret.' : ''} |`;
  });
  return [
    '# Configuration',
    '',
    'When it starts, Farebox reads these environment variables, and those that catalog files name for their',
    '[upstreams](upstreams.md), such as `FAL_KEY`. A secret may be given as a file instead: `NAME_FILE=/run/secrets/name`. A',
    'wrong value stops the start with a message that names it. Calls beyond a limit of a key or an account get 429.',
    '',
    '| name | default | what it does |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
