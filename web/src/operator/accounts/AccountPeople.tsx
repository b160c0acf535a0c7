import { Group, Menu, Stack, Text } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useState } from 'react';
import { Dimmed, RowName, Heading, RowButton, Tag } from '../../components/styles.ts';
import type { OperatorAccount, AccountPerson } from '../../api-types.ts';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { When } from '../../components/text.tsx';
import { useMe } from '../../session.tsx';
import { useRightProps } from '../rights.ts';
import { PersonDialog, personActions, type PersonAction } from './PersonDialog.tsx';
import { useTranslation } from '../../i18n.ts';
import './account-texts.ts';

/** An account's members and open invitations. */
export function AccountPeople(props: { account_id: string; account: OperatorAccount | undefined }) {
  const { t } = useTranslation('operator_account');
  const { account_id, account } = props;
  const [chosen, setChosen] = useState<{ act: PersonAction; person: AccountPerson } | null>(null);
  const columns: Column<AccountPerson>[] = [
    column.plain(t('person'), (row) => (
      <Stack gap={0}>
        <RowName>{row.name}</RowName>
        <Dimmed fw={400} className="wrap">
          {row.email}
        </Dimmed>
      </Stack>
    )),
    column.plain(t('role'), (row) => <RoleOf person={row} />),
    column.plain(t('seen'), (row) =>
      row.seen_at === null ? t('never_seen') : <When at={row.seen_at} />,
    ),
    column.actions((row) => (
      <Acts
        person={row}
        ofOperators={account?.is_operator ?? false}
        onChoose={(act) => setChosen({ act, person: row })}
      />
    )),
  ];
  return (
    <section>
      <Heading mb="sm">{t('people')}</Heading>
      {account?.people.length === 0 ? (
        <Dimmed>{t('no_people')}</Dimmed>
      ) : (
        <DataList
          label={t('people')}
          columns={columns}
          rows={account?.people}
          keyOf={(row) => row.person_id}
        />
      )}
      {account?.invitations.map(({ invitation_id, email, role, operator_role, expires_at }) => (
        <Text key={invitation_id} size="sm" mt="xs" className="wrap">
          {email}
          <Text span c="dimmed">
            {' · '}
            {t('invited', {
              role: operator_role
                ? t(`operator_rights:role.${operator_role}`)
                : t(`common:role.${role}`),
            })}{' '}
            <When at={expires_at} as="date" />
          </Text>
        </Text>
      ))}
      {chosen !== null && (
        <PersonDialog
          {...chosen}
          account_id={account_id}
          ofOperators={account?.is_operator ?? false}
          onClose={() => setChosen(null)}
        />
      )}
    </section>
  );
}

function RoleOf({
  person: { role, operator_role, two_factor_enabled },
}: {
  person: AccountPerson;
}) {
  const { t } = useTranslation('operator_account');
  return (
    <Group gap={6}>
      {operator_role === null
        ? t(`common:role.${role}`)
        : t('runs_as', { role: t(`operator_rights:role.${operator_role}`) })}
      {two_factor_enabled && <Tag>{t('two_factor')}</Tag>}
    </Group>
  );
}

const endsThem = (act: PersonAction) => act === 'remove' || act === 'erase';

/** The people of an operator's account are changed by owners of the service only. */
function Acts(props: {
  person: AccountPerson;
  ofOperators: boolean;
  onChoose: (act: PersonAction) => void;
}) {
  const { t } = useTranslation('operator_account');
  const { person, ofOperators, onChoose } = props;
  const actions = useRightProps();
  const me = useMe();
  const offered = personActions.filter(
    (act) =>
      (act !== 'two_factors' || person.two_factor_enabled) &&
      (!endsThem(act) || person.person_id !== me?.person_id),
  );
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <RowButton
          px={8}
          aria-label={t('acts_on', { email: person.email })}
          {...actions(ofOperators ? 'own' : 'accounts')}
        >
          <IconDots size={16} />
        </RowButton>
      </Menu.Target>
      <Menu.Dropdown>
        {offered.map((act) => (
          <Menu.Item
            key={act}
            onClick={() => onChoose(act)}
            {...(endsThem(act) && { c: 'var(--bad)' })}
          >
            {t(`act.${act}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
