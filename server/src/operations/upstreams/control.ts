import type { UpstreamDefinition } from '../../core/catalog/upstream-definition.ts';
import * as controls from '../../db/upstreams/controls.ts';
import { endPause } from '../../db/upstreams/pauses.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { reasonFrom } from '../line.ts';
import type { ActionResult, Author } from '../operator-action.ts';
import { sealKey } from './stored-keys.ts';

/** An operator sets the state and the key of an upstream, and ends its pauses. */

interface Control {
  name: string;
  reason: string | null;
}

/** Switches it on or off, or lets it drain. */
export async function setState(
  db: Connection,
  by: Author,
  { name, state, reason }: Control & { state: controls.ControlState },
) {
  const told = reasonFrom(reason);
  const before = await controls.setState(db, { name, state, by: by.email });
  const details = { state, before, ...told };
  return { answer: { name, state, before }, target: name, details } satisfies ActionResult;
}

/** A key in place of the variable; null: none. */
interface KeyControl extends Control {
  key: string | null;
  definition: UpstreamDefinition | undefined;
}

/** Throws `Refusal` if the upstream cannot use the key, which is sealed with `secret`. */
export async function setKey(
  db: Connection,
  by: Author,
  secret: Buffer,
  { name, key: given, definition, reason }: KeyControl,
) {
  const told = reasonFrom(reason);
  const key = given === null ? null : sealKey(secret, definition, given);
  await controls.setKey(db, { name, key, by: by.email });
  const stored_key = key && { ends_with: key.key_tails, sealed_with: key.sealed_with };
  const details = { ...stored_key, ...told };
  return { answer: { name, stored_key }, target: name, details } satisfies ActionResult;
}

/** Ends its pause, or only that of this model at it. */
export async function resume(db: Database, name: string, model: string | null) {
  const was_paused = await endPause(db, name, model);
  const details = { model, was_paused };
  return { answer: { was_paused }, target: name, details } satisfies ActionResult;
}
