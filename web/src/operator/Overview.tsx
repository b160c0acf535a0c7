import { Badge, Box, SegmentedControl, SimpleGrid, Skeleton } from '@mantine/core';
import { useTranslation } from '../i18n.ts';
import type { AuditResult, Revenue } from '../api-types.ts';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { Home } from '../components/Home.tsx';
import { Heading } from '../components/styles.ts';
import { Usd, useLocale } from '../components/text.tsx';
import { briefUsd } from '../money.ts';
import { previous, useOperatorQuery } from '../queries.ts';
import { Attention } from './Attention.tsx';
import { Books, booksState } from './Books.tsx';
import { Breakdown } from './Breakdown.tsx';
import { FailedLately } from './FailedLately.tsx';
import { Figure } from './Figure.tsx';
import { PageLink } from './links.tsx';
import { liveQuery } from './live.ts';
import './overview-texts.ts';
import { Revenues } from './Revenues.tsx';
import { offered, useAddress } from './search.ts';
import { SourceSums } from './SourceSums.tsx';

/** Revenue of the service, and what needs the operator. */
export function Overview() {
  const { t } = useTranslation('operator_overview');
  const [{ days = '30' }, setAddress] = useAddress('/operator');
  const found = useOperatorQuery('GET /overview', { query: { days } }, previous);
  const attention = useOperatorQuery('GET /attention', {}, liveQuery);
  const { data, error } = found;
  return (
    <>
      <PageTitle title={t('common:nav.overview')} text={t('text')}>
        <BooksState verdict={data?.books} />
        <SegmentedControl
          aria-label={t('common:period')}
          value={days}
          onChange={(value) => setAddress({ days: value === '30' ? undefined : value })}
          data={offered.periods.map((value) => ({
            value,
            label: value === '1' ? t('day_hours') : t('days', { n: value }),
          }))}
        />
      </PageTitle>
      <Home
        main={
          error ? (
            // As high as the figures, so that what follows stays in its place.
            <Box mih={{ base: 690, xs: 590, lg: 490 }}>
              <Failure error={error} retry={() => void found.refetch()} />
            </Box>
          ) : (
            <Revenues figures={data} />
          )
        }
        aside={
          <section aria-label={t('operator_attention:title')}>
            <Heading mb={4}>{t('operator_attention:title')}</Heading>
            {attention.isPending && !error ? <Skeleton h={120} /> : <Attention />}
          </section>
        }
        // Nothing moves when the lines above come.
        whole={
          !attention.isPending &&
          data &&
          !error && (
            <>
              <Standing figures={data} />
              {data.totals.completed > 0 && <Breakdown figures={data} />}
              <FailedLately />
              <Books verdict={data.books} />
            </>
          )
        }
      />
    </>
  );
}

/** Leads to the audit below. */
function BooksState({ verdict }: { verdict: AuditResult | null | undefined }) {
  const { t } = useTranslation('operator_overview');
  return (
    <Badge
      component="a"
      href="#books"
      variant="light"
      color={verdict === null ? 'gray' : verdict?.ok === false ? 'red' : 'fare'}
      // Keeps its place, and says nothing, until the data comes.
      style={{ cursor: 'pointer', visibility: verdict === undefined ? 'hidden' : 'visible' }}
    >
      {t(verdict === undefined ? 'books_ok' : booksState(verdict))}
    </Badge>
  );
}

/** The state of now: it has no period. */
function Standing({ figures }: { figures: Revenue }) {
  const { t } = useTranslation('operator_overview');
  const format = new Intl.NumberFormat(useLocale());
  const { available_usd_micro: available, reserved_usd_micro: reserved } = figures;
  const { debt_usd_micro: debt, vouchers_usd_micro: vouchers } = figures;
  const notes = [
    t('held_note', { owed: briefUsd(BigInt(available) + BigInt(reserved), 'up') }),
    vouchers !== '0' && t('promised', { amount: briefUsd(vouchers) }),
    debt !== '0' && t('owed', { amount: briefUsd(debt) }),
  ];
  const fresh = figures.by_day.reduce((sum, day) => sum + day.new_accounts, 0);
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="lg">
      <Figure label={t('held')} note={notes.filter(Boolean).join(' ')}>
        <PageLink to="/operator/accounts">
          <Usd micro={available} />
        </PageLink>
      </Figure>
      <Figure label={t('open')} note={t('open_note')}>
        <PageLink to="/operator/queue">
          <Usd micro={reserved} />
        </PageLink>
      </Figure>
      <Figure
        label={t('common:nav.accounts')}
        note={t('accounts_note', { n: format.format(fresh) })}
      >
        <PageLink to="/operator/accounts">{format.format(figures.accounts)}</PageLink>
      </Figure>
      <SourceSums label={t('deposits')} sums={figures.deposits} />
    </SimpleGrid>
  );
}
