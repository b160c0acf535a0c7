import { Group, Stack, Text, Timeline } from '@mantine/core';
import type { ReactNode } from 'react';
import { Copy } from './Copy.tsx';
import { Dimmed, Note } from './styles.ts';
import { When } from './text.tsx';
import { useTranslation } from '../i18n.ts';

/** Names with their values, one per line. */
export function Facts({ rows }: { rows: [name: string, value: ReactNode][] }) {
  return (
    <Stack gap={6}>
      {rows.map(([name, value]) => (
        <Group key={name} justify="space-between" wrap="nowrap" gap="md" align="baseline">
          <Dimmed>{name}</Dimmed>
          <Text component="div" size="sm" ta="right" className="wrap">
            {value}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}

/** The numbers of the call that made a request, as rows of `Facts`. */
export function useCallNumbers(request: { call_id: string | null; caller_id: string | null }) {
  const { t } = useTranslation('common');
  const numbers = [
    [t('call_id'), request.call_id],
    [t('caller_id'), request.caller_id],
  ] as const;
  return numbers.flatMap(([name, text]): [string, ReactNode][] =>
    text === null ? [] : [[name, <CopiedText key={name} text={text} what={name} />]],
  );
}

function CopiedText({ text, what }: { text: string; what: string }) {
  return (
    <Group gap={2} wrap="nowrap" justify="flex-end" miw={0}>
      <Text span size="sm" ff="monospace" className="wrap">
        {text}
      </Text>
      <Copy text={text} what={what} />
    </Group>
  );
}

export interface Moment {
  at: string;
  what: string;
  more?: string | undefined;
  color?: string;
}

/** A list of moments, in the order in which they happened. */
export function Moments({ moments }: { moments: Moment[] }) {
  const sorted = moments.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return (
    <Timeline bulletSize={14} lineWidth={2} active={sorted.length - 1}>
      {sorted.map(({ at, what, more, color }, i) => (
        <Timeline.Item
          key={i}
          {...(color && { color })}
          title={
            <Text size="sm" fw={500} span>
              {what}
            </Text>
          }
        >
          <Note>
            <When at={at} as="exact" />
            {more && ` · ${more}`}
          </Note>
        </Timeline.Item>
      ))}
    </Timeline>
  );
}
