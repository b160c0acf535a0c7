import './team-texts.ts';
import { Alert, Button, Card, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { IconShieldLock, IconUserPlus } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { Dimmed, Heading } from '../../components/styles.ts';
import type { Team as TeamReply } from '../../api-types.ts';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { useAccount, useMay } from '../../session.tsx';
import { AccountName } from './AccountName.tsx';
import { BilledTo } from './BilledTo.tsx';
import { Invitations } from './Invitations.tsx';
import { Invite } from './Invite.tsx';
import { Members } from './Members.tsx';
import { allRoles } from './team.ts';
import { useAccountQuery } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

/** The account's members, their roles, and open invitations. */
export function Team() {
  const { t } = useTranslation('team');
  const owns = useMay('own');
  const [inviting, setInviting] = useState(false);
  const team = useAccountQuery('GET /team', {});
  return (
    <>
      <PageTitle title={t('common:nav.team')} text={t('text')}>
        {owns && (
          <Button leftSection={<IconUserPlus size={18} />} onClick={() => setInviting(true)}>
            {t('invite')}
          </Button>
        )}
      </PageTitle>
      {team.isPending ? (
        // The number of members is not known yet, so the sections below wait as well.
        <Skeleton h={220} radius="md" />
      ) : (
        <People team={team} />
      )}
      {owns && <Invite opened={inviting} onClose={() => setInviting(false)} />}
    </>
  );
}

function People({ team }: { team: UseQueryResult<TeamReply> }) {
  const { t } = useTranslation('team');
  const { account_id } = useAccount();
  const owns = useMay('own');
  return (
    <Stack gap="lg">
      {team.data?.is_operator && (
        <Alert icon={<IconShieldLock />} color="yellow" c="inherit">
          {t('operator')}
        </Alert>
      )}
      {team.error && <Failure error={team.error} retry={() => void team.refetch()} />}
      {team.data && <Members members={team.data.members} />}
      {team.data && owns && <Invitations invitations={team.data.invitations} />}
      {owns && <AccountName key={account_id} />}
      {team.data && owns && <BilledTo key={`billed ${account_id}`} before={team.data.billed_to} />}
      <Roles />
    </Stack>
  );
}

function Roles() {
  const { t } = useTranslation('team');
  return (
    <section>
      <Heading mb="sm">{t('roles')}</Heading>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {allRoles.map((role) => (
          <Card key={role} withBorder>
            <Text fw={600}>{t(`common:role.${role}`)}</Text>
            <Dimmed>{t(`may.${role}`)}</Dimmed>
          </Card>
        ))}
      </SimpleGrid>
    </section>
  );
}
