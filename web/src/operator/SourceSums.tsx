import { Group } from '@mantine/core';
import { useTranslation } from '../i18n.ts';
import type { SourceSum } from '../api-types.ts';
import { Usd } from '../components/text.tsx';
import { Figure } from './Figure.tsx';

/** The money that came in, by source; nothing while there is none. */
export function SourceSums({ label, sums }: { label: string; sums: SourceSum[] | undefined }) {
  const { t } = useTranslation('common');
  if (!sums || sums.length === 0) return null;
  return (
    <Group gap="4px 32px" align="flex-start" role="group" aria-label={label}>
      {sums.map(({ source, amount_usd_micro }, i) => (
        <Figure key={source} label={i === 0 ? label : '\u00a0'} note={t(`source.${source}`)}>
          <Usd micro={amount_usd_micro} />
        </Figure>
      ))}
    </Group>
  );
}
