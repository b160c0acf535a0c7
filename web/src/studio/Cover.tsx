import { Text } from '@mantine/core';
import type { Model } from '../api-types.ts';
import classes from './Cover.module.css';
import { useSample } from './price.ts';

/** A picture of what the model makes, or a line of what it may be asked. */
export function Cover({ model }: { model: Model }) {
  const { id, example, description } = model;
  const sample = useSample(id);
  if (sample !== undefined)
    return (
      <img className={classes.cover} src={sample} alt="" width="480" height="360" loading="lazy" />
    );
  const asked = typeof example.prompt === 'string' ? example.prompt : lastOf(example.messages);
  return (
    <div className={classes.cover} aria-hidden>
      <Text size="sm" lineClamp={3} className={classes.words}>
        {asked ?? description}
      </Text>
    </div>
  );
}

/** The text of the last message of a chat's example. */
function lastOf(messages: unknown): string | null {
  const last = Array.isArray(messages) ? (messages.at(-1) as { content?: unknown }) : null;
  return typeof last?.content === 'string' ? last.content : null;
}
