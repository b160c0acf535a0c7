import { Group, Text, TextInput } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useState } from 'react';
import { entriesOf } from '../../records.ts';
import { useFields } from '../../components/Form.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { Dimmed, RowName, Heading, RowButton, Dot } from '../../components/styles.ts';
import type { AccountKey, KeyCeilings, OperatorAccount } from '../../api-types.ts';
import { FormModal } from '../../components/FormModal.tsx';
import { isAmount, MoneyInput } from '../../components/MoneyInput.tsx';
import { Usd } from '../../components/text.tsx';
import { briefUsd, formatUsd, parseUsd } from '../../money.ts';
import './account-texts.ts';
import { useAction } from '../action.ts';
import { useRightProps } from '../rights.ts';
import { PagedList } from '../../components/list/PagedList.tsx';
import { useOperatorPages } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

/** An account's keys with their limits, which the operator may change. */
export function AccountKeys(props: { account_id: string; account: OperatorAccount | undefined }) {
  const { t } = useTranslation('operator_account');
  const { account_id, account } = props;
  const found = useOperatorPages('GET /accounts/:account_id/keys', { params: { account_id } });
  const [chosen, setChosen] = useState<AccountKey | null>(null);
  const [ending, setEnding] = useState<AccountKey | null>(null);
  const act = useRightProps()(account?.is_operator ? 'own' : 'keys');
  const columns: Column<AccountKey>[] = [
    column.plain(t('key'), (row) => (
      <Group gap={8}>
        <RowName maw={260} style={{ overflowWrap: 'break-word' }}>
          {row.name}
        </RowName>
        <Dimmed ff="monospace" fw={400}>
          {row.prefix}…{row.last4}
        </Dimmed>
        {row.scope === 'keys' && <Dot color="grape">{t('manages_keys')}</Dot>}
        {row.created_by_name !== null && (
          <Dimmed className="wrap">{t('made_by', { name: row.created_by_name })}</Dimmed>
        )}
        {row.revoked_at !== null && <Dot color="red">{t('revoked')}</Dot>}
        {row.state === 'expired' && <Dot color="yellow">{t('expired')}</Dot>}
      </Group>
    )),
    column.usd(t('used'), (row) => row.month_usd_micro),
    column.figure(t('limit'), (row) =>
      row.monthly_limit_usd_micro === null ? (
        t('no_limit')
      ) : (
        <Usd micro={row.monthly_limit_usd_micro} />
      ),
    ),
    column.figure(t('rpm'), (row) => <span className="number">{row.rpm ?? t('usual')}</span>),
    column.figure(t('jobs'), (row) => (
      <span className="number">
        {row.open_requests} / {row.open_jobs ?? t('usual')}
      </span>
    )),
    column.actions(
      (row) =>
        row.revoked_at === null && (
          <Group gap={6} justify="flex-end" wrap="nowrap">
            <RowButton
              onClick={() => setChosen(row)}
              aria-label={`${t('change_limits')}: ${row.name}`}
              {...act}
            >
              {t('change_limits')}
            </RowButton>
            <RowButton
              onClick={() => setEnding(row)}
              aria-label={`${t('revoke')}: ${row.name}`}
              {...act}
            >
              {t('revoke')}
            </RowButton>
          </Group>
        ),
    ),
  ];
  return (
    <section>
      <Heading mb="sm">{t('keys')}</Heading>
      <PagedList
        of={found}
        empty={{ icon: <IconKey />, title: t('no_keys'), text: t('no_keys_text') }}
        label={t('keys')}
        columns={columns}
        keyOf={(row) => row.key_id}
      />
      {account && <OfNewKeys ceilings={account.key_ceilings} />}
      {chosen !== null && <Limits chosen={chosen} onClose={() => setChosen(null)} />}
      {ending !== null && <Revoke ending={ending} onClose={() => setEnding(null)} />}
    </section>
  );
}

/** The operator's ceilings, which also apply to keys made later. */
function OfNewKeys({ ceilings }: { ceilings: KeyCeilings }) {
  const { t, language } = useTranslation('operator_account');
  const {
    monthly_ceiling_usd_micro: monthly,
    rpm_ceiling: rpm,
    open_jobs_ceiling: jobs,
  } = ceilings;
  const set = [
    ...(monthly === null ? [] : [t('a_month', { amount: briefUsd(monthly) })]),
    ...(rpm === null ? [] : [t('a_minute', { n: rpm })]),
    ...(jobs === null ? [] : [t('open_at_once', { n: jobs })]),
  ];
  if (set.length === 0) return null;
  const what = new Intl.ListFormat(language, { type: 'unit' }).format(set);
  return <Dimmed mt="sm">{t('new_keys', { what })}</Dimmed>;
}

function Limits(props: { chosen: AccountKey; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const { chosen, onClose } = props;
  const act = useAction();
  const { monthly_limit_usd_micro: before } = chosen;
  const { values, field } = useFields({
    limit: before === null ? '' : formatUsd(before).replaceAll(',', ''),
    rpm: String(chosen.rpm ?? ''),
    jobs: String(chosen.open_jobs ?? ''),
  });
  const { limit, rpm, jobs } = values;
  const submit = () => {
    const wanted = {
      monthly_limit_usd_micro: limit.trim() === '' ? null : String(parseUsd(limit)),
      rpm: countOf(rpm),
      open_jobs: countOf(jobs),
    };
    // Sends only the changed fields: the others may be limits that the customer set.
    const body = Object.fromEntries(
      entriesOf(wanted).filter(([name, value]) => value !== chosen[name]),
    );
    const params = { key_id: chosen.key_id };
    return act('PATCH /keys/:key_id', { params, body }, t('limits_set'));
  };
  const isRight =
    (limit.trim() === '' || isAmount(limit, 'from_zero')) &&
    countOf(rpm) !== undefined &&
    countOf(jobs) !== undefined;
  return (
    <FormModal
      onClose={onClose}
      title={t('limits_title', { name: chosen.name })}
      submit={t('save_limits')}
      disabled={!isRight}
      onSubmit={submit}
    >
      <Text size="sm">{t('limits_text')}</Text>
      <MoneyInput label={t('limit_usd')} {...field('limit')} allows="from_zero" data-autofocus />
      <TextInput
        label={t('rpm')}
        inputMode="numeric"
        error={countOf(rpm) === undefined && t('bad_count')}
        {...field('rpm')}
      />
      <TextInput
        label={t('jobs')}
        inputMode="numeric"
        error={countOf(jobs) === undefined && t('bad_count')}
        {...field('jobs')}
      />
    </FormModal>
  );
}

function Revoke({ ending, onClose }: { ending: AccountKey; onClose: () => void }) {
  const { t } = useTranslation('operator_account');
  const act = useAction();
  const params = { key_id: ending.key_id };
  return (
    <FormModal
      onClose={onClose}
      title={t('revoke_title', { name: ending.name })}
      submit={t('revoke')}
      danger
      onSubmit={() => act('DELETE /keys/:key_id', { params }, t('key_revoked'))}
    >
      <Text size="sm">{t('revoke_text')}</Text>
    </FormModal>
  );
}

/** Null for no limit; undefined if the text is not a count. */
function countOf(text: string): number | null | undefined {
  if (text.trim() === '') return null;
  const count = /^\s*\d{1,7}\s*$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= 1_000_000 ? count : undefined;
}
