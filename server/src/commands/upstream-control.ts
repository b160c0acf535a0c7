import { readFileSync } from 'node:fs';
import { catalogDir } from '../config.ts';
import type { ControlState } from '../db/upstreams/controls.ts';
import { commandLine } from '../operations/operator-action.ts';
import { CommandFailed } from '../operations/refusal.ts';
import * as control from '../operations/upstreams/control.ts';
import { signingSecrets } from '../secrets.ts';
import { act } from './database.ts';
import { definedNames, readFolder, withUpstreams } from './offline-check.ts';
import type { Context, CommandOutput } from './output.ts';

interface ControlInput {
  name: string;
  reason?: string | null;
}

/** Switches an upstream on or off, or lets it drain. */
export async function setState(
  { name, state, reason = null }: ControlInput & { state: ControlState },
  context: Context,
): Promise<CommandOutput> {
  if (!(await definedNames(context.config)).includes(name))
    throw new CommandFailed(`No catalog file defines the upstream "${name}".`);
  const json = await act(context, 'upstream.state', (db) =>
    control.setState(db, commandLine, { name, state, reason }),
  );
  return { json, text: `${name} is ${state}; it was ${json.before}.` };
}

/** Stores the key that comes on standard input, or removes the stored one. */
export async function setKey(
  { name, remove = false, reason = null }: ControlInput & { remove?: boolean },
  context: Context,
): Promise<CommandOutput> {
  const { config } = context;
  const key = remove ? null : readFileSync(0, 'utf8').trim();
  const definition = await withUpstreams(config, async (opened) => {
    const { upstreams } = await readFolder(catalogDir(config), opened);
    return upstreams.find((each) => each.definition.name === name)?.definition;
  });
  if (!definition) throw new CommandFailed(`No catalog file defines the upstream "${name}".`);
  const json = await act(context, 'upstream.key', (db) =>
    control.setKey(db, commandLine, signingSecrets(config)[0]!, { name, key, definition, reason }),
  );
  const text = key === null ? `${name} uses its variable again.` : `${name} has a stored key.`;
  return { json, text };
}
