import { Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconTransferIn } from '@tabler/icons-react';
import { useState } from 'react';
import type { OperatorDeposit } from '../../api-types.ts';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { FilterSelect } from '../../components/list/FilterSelect.tsx';
import { PagedList } from '../../components/list/PagedList.tsx';
import { SearchField } from '../../components/list/SearchField.tsx';
import { Dot, Note, PlainButton, RowButton, RowName } from '../../components/styles.ts';
import { Usd } from '../../components/text.tsx';
import { Transaction } from '../../components/Transaction.tsx';
import { useOperatorPages, useOperatorQuery } from '../../queries.ts';
import { AccountLink } from '../links.tsx';
import { liveMs } from '../live.ts';
import { offered, useAddress } from '../search.ts';
import { CreditDialog, IgnoreDialog } from './DepositDialogs.tsx';
import './deposits-texts.ts';
import { useRightProps } from '../rights.ts';
import { useTranslation } from '../../i18n.ts';

type State = OperatorDeposit['state'];
type StateReason = NonNullable<OperatorDeposit['why']>;

const colors: Record<State, string> = { held: 'yellow', credited: 'fare', ignored: 'gray' };
/** The reasons that a deposit of each state may have. */
const whysOf: Record<State | 'all', readonly StateReason[]> = {
  held: ['unconfirmed', 'unmatched', 'review'],
  credited: [],
  ignored: ['dust', 'token', 'operator'],
  all: offered.whys,
};

/** Deposits of all accounts: the held ones, unless the address names another state. */
export function Deposits() {
  const { t } = useTranslation('operator_deposits');
  return (
    <>
      <PageTitle title={t('common:nav.deposits')} text={t('text')} />
      <Filters />
      <DepositRows />
    </>
  );
}

function Filters() {
  const { t } = useTranslation('operator_deposits');
  const [{ state = 'held', why, chain, account, tx }, setAddress] =
    useAddress('/operator/deposits');
  const { data } = useOperatorQuery('GET /chains', {});
  const chains = data?.data.map(({ chain: value, title: label }) => ({ value, label })) ?? [];
  return (
    <Group mb="md" gap="sm">
      <SegmentedControl
        aria-label={t('state')}
        value={state}
        onChange={(value) =>
          setAddress({ state: value === 'held' ? undefined : value, why: undefined })
        }
        data={offered.deposits.map((value) => ({ value, label: t(`states.${value}`) }))}
      />
      {whysOf[state].length > 0 && (
        <FilterSelect
          label={t('why')}
          all={t('any_why')}
          data={whysOf[state].map((value) => ({ value, label: t(`why_short.${value}`) }))}
          value={why}
          onChange={(value) => setAddress({ why: value })}
          width={190}
        />
      )}
      {chains.length > 1 && (
        <FilterSelect
          label={t('chain')}
          all={t('any_chain')}
          data={chains}
          value={chain}
          onChange={(value) => setAddress({ chain: value })}
          width={170}
        />
      )}
      <SearchField
        label={t('find')}
        hint={t('find')}
        text={tx ?? ''}
        onChange={(value) => setAddress({ tx: value })}
      />
      {account !== undefined && (
        <PlainButton onClick={() => setAddress({ account: undefined })}>
          {t('only_account')} · {t('clear')}
        </PlainButton>
      )}
    </Group>
  );
}

function DepositRows() {
  const { t } = useTranslation('operator_deposits');
  const actions = useRightProps();
  const [{ state = 'held', why, chain, account, tx }] = useAddress('/operator/deposits');
  const [chosen, setChosen] = useState<['credit' | 'ignore', OperatorDeposit] | null>(null);
  const query = {
    state: state === 'all' ? undefined : state,
    why,
    chain,
    account_id: account,
    tx_hash: tx,
  };
  const found = useOperatorPages('GET /deposits', { query }, liveMs);
  const isFiltered = Boolean(why ?? chain ?? account ?? tx);
  const empty = isFiltered ? 'nothing' : state;
  const columns: Column<OperatorDeposit>[] = [
    column.plain(t('amount'), (row) => (
      <Stack gap={0}>
        <RowName>
          <Usd micro={row.amount_usd_micro} />
        </RowName>
        <Note fw={400} className="wrap">
          {row.token} · {row.title}
        </Note>
      </Stack>
    )),
    column.plain(t('state'), (row) => <StateOf deposit={row} />),
    column.plain(t('common:account'), ({ account_id, account_name, account_email: email }) =>
      account_id === null ? (
        <Text fz="sm">{t('no_account')}</Text>
      ) : (
        <AccountLink of={{ account_id, account_name, email }} />
      ),
    ),
    column.plain(t('common:transaction'), (row) => <Transaction of={row} />),
    column.when(t('found'), (row) => row.created_at),
    column.actions(
      (row) =>
        row.state !== 'credited' && (
          <Group gap={6} justify="flex-end" wrap="nowrap">
            <RowButton onClick={() => setChosen(['credit', row])} {...actions('money')}>
              {t('credit')}
            </RowButton>
            {row.state === 'held' && (
              <RowButton onClick={() => setChosen(['ignore', row])} {...actions('money')}>
                {t('ignore')}
              </RowButton>
            )}
          </Group>
        ),
    ),
  ];
  const Dialog = chosen?.[0] === 'credit' ? CreditDialog : IgnoreDialog;
  return (
    <>
      <PagedList
        of={found}
        empty={{
          icon: <IconTransferIn />,
          title: t(`none.${empty}_title`),
          text: t(`none.${empty}_text`),
        }}
        label={t('common:nav.deposits')}
        columns={columns}
        keyOf={(row) => row.deposit_id}
      />
      {chosen && <Dialog deposit={chosen[1]} onClose={() => setChosen(null)} />}
    </>
  );
}

function StateOf({ deposit: { state, why } }: { deposit: OperatorDeposit }) {
  const { t } = useTranslation('operator_deposits');
  return (
    <Stack gap={2} align="flex-start">
      <Dot color={colors[state]} miw="max-content">
        {t(`states.${state}`)}
      </Dot>
      {why !== null && <Note>{t(`whys.${why}`)}</Note>}
    </Stack>
  );
}
