import { Card, Group } from '@mantine/core';
import { useTranslation } from '../i18n.ts';
import type { SourceSum } from '../api-types.ts';
import { Dimmed, Heading } from '../components/styles.ts';
import { Usd } from '../components/text.tsx';

/** The money that came in, by source; nothing while there is none. */
export function SourceSums({ label, sums }: { label: string; sums: SourceSum[] | undefined }) {
  const { t } = useTranslation('common');
  if (!sums || sums.length === 0) return null;
  return (
    <Card withBorder p="md" role="group" aria-label={label}>
      <Heading mb="xs">{label}</Heading>
      <Group gap="4px 32px">
        {sums.map(({ source, amount_usd_micro }) => (
          <div key={source}>
            <Dimmed>{t(`source.${source}`)}</Dimmed>
            <Usd micro={amount_usd_micro} />
          </div>
        ))}
      </Group>
    </Card>
  );
}
