import { Button, Group, Skeleton } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { Overview } from '../../api-types.ts';
import { Dimmed } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import { briefUsd } from '../../money.ts';
import { useMay } from '../../session.tsx';
import classes from './Overview.module.css';
import type { Pace } from './pace.ts';
import { useTranslation } from '../../i18n.ts';

/** A balance that lasts longer is not said in days. */
const manyDays = 365;

/**
 * The number of the page: what can be spent, and how long it lasts. `pace`: undefined while loading.
 */
export function Balance({ data, pace }: { data?: Overview | undefined; pace?: Pace | null }) {
  const { t } = useTranslation('overview');
  const pays = useMay('pay');
  return (
    <section>
      <Dimmed>{t('common:available')}</Dimmed>
      <Group gap="md">
        <div className={classes.balance}>
          {data ? <Usd micro={data.available_usd_micro} /> : <Skeleton h="1lh" w={116} />}
        </div>
        {pays && (
          <Button
            component={Link}
            to="/dashboard/money/top-up"
            leftSection={<IconPlus size={16} />}
            variant={data && !data.steps.topped_up ? 'default' : 'filled'}
          >
            {t('top_up')}
          </Button>
        )}
      </Group>
      <Dimmed className={classes.lasts}>
        {pace !== undefined && data?.steps.has_request && <Lasts pace={pace} />}
        {data && data.reserved_usd_micro !== '0' && (
          <>
            {' '}
            <Usd micro={data.reserved_usd_micro} /> {t('reserved_text')}.
          </>
        )}
      </Dimmed>
    </section>
  );
}

function Lasts({ pace }: { pace: Pace | null }) {
  const { t } = useTranslation('overview');
  if (pace === null) return t('no_pace');
  const { lasts, days, perDay } = pace;
  const long = lasts === 0 ? t('lasts_no_day') : t('lasts', { count: lasts });
  const text = lasts > manyDays ? t('lasts_long') : long;
  return `${text} ${t('pace', { count: days, amount: briefUsd(perDay, 'up') })}`;
}
