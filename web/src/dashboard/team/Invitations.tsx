import { Badge, Box, Card, Group, Text } from '@mantine/core';
import { Note, Heading, RowButton } from '../../components/styles.ts';
import type { Invitee } from '../../api-types.ts';
import { When } from '../../components/text.tsx';
import { useAccountApi } from '../../session.tsx';
import { useOptimisticTeam } from './team.ts';
import { useTranslation } from '../../i18n.ts';

/** Open invitations. */
export function Invitations({ invitations }: { invitations: Invitee[] }) {
  const { t } = useTranslation('team');
  const api = useAccountApi();
  const updateTeam = useOptimisticTeam();
  const withdraw = ({ invitation_id }: Invitee) =>
    updateTeam(
      (before) => ({
        ...before,
        invitations: before.invitations.filter((each) => each.invitation_id !== invitation_id),
      }),
      () => api('DELETE /invitations/:invitation_id', { params: { invitation_id } }),
    );
  if (invitations.length === 0) return null;
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('invited')}</Heading>
      <ul className="rows">
        {invitations.map((each) => (
          <Group key={each.invitation_id} component="li" justify="space-between" gap="sm">
            <Box miw={0}>
              <Text size="sm" fw={600} className="wrap">
                {each.email}
              </Text>
              <Note>
                {t('good_until')} <When at={each.expires_at} as="date" />
              </Note>
            </Box>
            <Group gap="xs" wrap="nowrap" ml="auto">
              <Badge variant="default">{t(`common:role.${each.role}`)}</Badge>
              <RowButton
                onClick={() => void withdraw(each)}
                aria-label={`${t('withdraw')}: ${each.email}`}
              >
                {t('withdraw')}
              </RowButton>
            </Group>
          </Group>
        ))}
      </ul>
    </Card>
  );
}
