import { Anchor, Skeleton, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { CSSProperties, ReactNode } from 'react';
import { QueryLink } from '../../address.ts';
import type { KeyMonth, Overview } from '../../api-types.ts';
import { dayOfDate } from '../../components/date/days.ts';
import { Dimmed, Note } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import { briefUsd } from '../../money.ts';
import { useAccountQuery } from '../../queries.ts';
import { usePeopleNames } from '../requests/requests-data.ts';
import { useModelNames } from '../../requests/model-names.tsx';
import { useMay } from '../../session.tsx';
import type { Series } from './overview-data.ts';
import classes from './Overview.module.css';
import { Panel } from './Panel.tsx';
import { useTranslation } from '../../i18n.ts';

interface Share {
  id: string;
  name: string;
  note?: string;
  micro: bigint;
  /** The filter for the requests behind the amount; null: one filter cannot show them. */
  search: Record<string, string> | null;
}

const shownMax = 5;

/** The models on which most was spent in the shown period; each leads to its requests. */
export function ModelShares({ series, from }: { series: Series[] | undefined; from: string }) {
  const { t } = useTranslation('overview');
  const nameOf = useModelNames();
  const shares = series?.slice(0, shownMax).map((each) => ({
    id: each.name,
    name: each.model_id === null ? t('others') : nameOf(each.model_id),
    micro: each.total,
    search: each.model_id === null ? null : { model: each.model_id, from },
  }));
  return <Shares title={t('by_models')} shares={shares} />;
}

/** The keys on which most was spent this month, with their limits. */
export function KeyShares({ month }: { month: Overview['month'] | undefined }) {
  const { t } = useTranslation('overview');
  const builds = useMay('build');
  const now = new Date();
  const from = dayOfDate(new Date(now.getFullYear(), now.getMonth(), 1));
  const noteOf = ({ revoked, monthly_limit_usd_micro: limit }: KeyMonth) => {
    if (revoked) return t('revoked');
    return limit === null ? '' : t('of_limit', { limit: briefUsd(limit) });
  };
  const shares = month?.keys
    .map((key) => ({
      id: key.key_id,
      name: key.name,
      note: noteOf(key),
      micro: BigInt(key.spent_usd_micro),
      search: { key: key.key_id, from },
    }))
    .filter(({ micro }) => micro > 0n)
    .toSorted((a, b) => (a.micro < b.micro ? 1 : -1));
  return (
    <Shares
      title={t('keys')}
      text={t('keys_text')}
      shares={shares}
      more={
        <Anchor component={Link} to="/dashboard/keys" size="sm">
          {month?.keys_total === 0 && builds ? t('keys_make') : t('keys_more')}
        </Anchor>
      }
    />
  );
}

/** The people who spent most this month, if there are several. */
export function PeopleShares() {
  const { t } = useTranslation('overview');
  const people = usePeopleNames();
  const from = `${new Date().toISOString().slice(0, 8)}01`;
  const isTeam = people !== undefined && people.size > 1;
  const query = { by: 'person', from, limit: 1_000 };
  const { data } = useAccountQuery(
    'GET /v1/usage',
    { query },
    { enabled: isTeam, staleTime: 60_000 },
  );
  const shares = data?.data
    .map(({ person_id, charged_usd_micro }) => ({
      id: person_id ?? '',
      name: person_id === null ? t('programs') : (people?.get(person_id) ?? t('person_gone')),
      micro: BigInt(charged_usd_micro),
      search: person_id === null ? null : { person: person_id, from },
    }))
    .filter(({ micro }) => micro > 0n)
    .toSorted((a, b) => (a.micro < b.micro ? 1 : -1));
  if (!isTeam || !shares || shares.length === 0) return null;
  return (
    <Shares
      title={t('people')}
      shares={shares.slice(0, shownMax)}
      more={
        <Anchor component={QueryLink} to="/dashboard/usage" search={{ by: 'person' }} size="sm">
          {t('people_more')}
        </Anchor>
      }
    />
  );
}

function Shares(props: {
  title: string;
  text?: string;
  shares: Share[] | undefined;
  more?: ReactNode;
}) {
  const { title, text, shares, more } = props;
  const { t } = useTranslation('overview');
  const most = shares?.reduce((max, { micro }) => (micro > max ? micro : max), 1n) ?? 1n;
  return (
    <Panel title={title} more={more}>
      {text && <Note mb="xs">{text}</Note>}
      {shares === undefined && <Skeleton h={120} />}
      {shares?.length === 0 && <Dimmed mih={120}>{t('nothing_spent')}</Dimmed>}
      <ul className={classes.list} data-kept={shares && shares.length > 0}>
        {shares?.map(({ id, name, note, micro, search }) => {
          const share = `${Number((micro * 1000n) / most) / 10}%`;
          const content = (
            <>
              <Text size="sm" truncate title={name}>
                {name} {note && <Note span>{note}</Note>}
              </Text>
              <Text size="sm" fw={500} component="span">
                <Usd micro={micro} />
              </Text>
            </>
          );
          // React's type has no custom properties.
          const look = { className: classes.share!, style: { '--share': share } as CSSProperties };
          return (
            <li key={id}>
              {search ? (
                <QueryLink to="/dashboard/requests" search={search} {...look}>
                  {content}
                </QueryLink>
              ) : (
                <div {...look}>{content}</div>
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
