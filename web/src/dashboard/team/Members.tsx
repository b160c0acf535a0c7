import { ActionIcon, Avatar, Badge, Box, Card, Group, Select, Text, Tooltip } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Note, Heading, PlainButton } from '../../components/styles.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { When } from '../../components/text.tsx';
import type { Member, Role } from '../../api-types.ts';
import { useAccount, useAccountApi, useMay, meQuery } from '../../session.tsx';
import { allRoles, useOptimisticTeam } from './team.ts';
import { useReload } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

type Question =
  | { kind: 'remove' | 'leave'; member: Member }
  | { kind: 'demote'; role: Role }
  | null;

export function Members({ members }: { members: Member[] }) {
  const { t } = useTranslation('team');
  const { name: account } = useAccount();
  const api = useAccountApi();
  const reload = useReload();
  const updateTeam = useOptimisticTeam();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [question, setQuestion] = useState<Question>(null);
  const owners = members.filter(({ role }) => role === 'owner').length;

  const setRole = (member: Member, role: Role) => {
    const { person_id } = member;
    return updateTeam(
      (before) => ({
        ...before,
        members: before.members.map((each) =>
          each.person_id === person_id ? { ...each, role } : each,
        ),
      }),
      async () => {
        await api('PATCH /members/:person_id', { params: { person_id }, body: { role } });
        if (member.is_me) await queries.fetchQuery({ ...meQuery, staleTime: 0 });
      },
    );
  };
  const ask = (member: Member, role: Role) => {
    if (member.is_me && role !== 'owner') setQuestion({ kind: 'demote', role });
    else void setRole(member, role);
  };
  const confirm = async () => {
    if (question === null) return;
    if (question.kind === 'demote') {
      await setRole(
        members.find(({ is_me }) => is_me)!,
        question.role,
      );
    } else if (question.kind === 'remove') {
      await api('DELETE /members/:person_id', {
        params: { person_id: question.member.person_id },
      });
      await reload('GET /team');
    } else {
      await api('POST /leave');
      await queries.fetchQuery({ ...meQuery, staleTime: 0 });
      await navigate({ to: '/dashboard' });
    }
  };
  return (
    <Card withBorder component="section" p={{ base: 'md', sm: 'lg' }}>
      <Heading mb="md">{t('members')}</Heading>
      <ul className="rows">
        {members.map((member) => (
          <MemberRow
            key={member.person_id}
            member={member}
            isLastOwner={member.role === 'owner' && owners === 1}
            onRole={(role) => ask(member, role)}
            onGo={() => setQuestion({ kind: member.is_me ? 'leave' : 'remove', member })}
          />
        ))}
      </ul>
      <Confirm
        opened={question !== null}
        title={t(`${question?.kind ?? 'leave'}_title`)}
        action={t(`${question?.kind ?? 'leave'}_action`)}
        onConfirm={confirm}
        onClose={() => setQuestion(null)}
      >
        {t(`${question?.kind ?? 'leave'}_text`, {
          account,
          name: question && 'member' in question ? question.member.name : '',
        })}
      </Confirm>
    </Card>
  );
}

function MemberRow(props: {
  member: Member;
  /** The last owner can neither leave nor get another role. */
  isLastOwner: boolean;
  onRole: (role: Role) => void;
  onGo: () => void;
}) {
  const { member } = props;
  const { t } = useTranslation('team');
  const owns = useMay('own');
  return (
    <Group component="li" justify="space-between" gap="sm">
      <Group gap="sm" wrap="nowrap" miw={0} flex="1 1 260px">
        <Avatar name={member.name} radius="xl" aria-hidden />
        <Box miw={0}>
          <Group gap="xs">
            <Text fw={600} size="sm">
              {member.name}
            </Text>
            {member.is_me && (
              <Badge size="sm" variant="default">
                {t('you')}
              </Badge>
            )}
            {member.two_factor_enabled && (
              <Badge size="sm" variant="light">
                {t('two_factor')}
              </Badge>
            )}
          </Group>
          <Note className="wrap">{member.email}</Note>
          <Note>
            {t('since')} <When at={member.joined_at} as="date" />
            {props.isLastOwner && ` · ${t('last_owner')}`}
          </Note>
        </Box>
      </Group>
      <Group gap="xs" wrap="nowrap" ml="auto">
        {owns && !props.isLastOwner ? (
          <Select
            w={150}
            aria-label={t('role_of', { name: member.name })}
            data={allRoles.map((role) => ({ value: role, label: t(`common:role.${role}`) }))}
            value={member.role}
            allowDeselect={false}
            onChange={(role) => role && role !== member.role && props.onRole(role)}
          />
        ) : (
          <Badge variant="default">{t(`common:role.${member.role}`)}</Badge>
        )}
        {member.is_me && !props.isLastOwner && (
          <PlainButton onClick={props.onGo}>{t('leave')}</PlainButton>
        )}
        {owns && !member.is_me && !props.isLastOwner && (
          <Tooltip label={t('common:remove')}>
            <ActionIcon
              variant="subtle"
              color="red"
              size="lg"
              aria-label={`${t('common:remove')}: ${member.name}`}
              onClick={props.onGo}
            >
              <IconTrash size={18} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </Group>
  );
}
