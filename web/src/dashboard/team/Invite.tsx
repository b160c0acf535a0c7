import { Alert, Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { IconLink } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Dimmed, PlainButton } from '../../components/styles.ts';
import { Copy } from '../../components/Copy.tsx';
import { Modal } from '../../components/Dialog.tsx';
import { messageOf } from '../../components/Failure.tsx';
import type { NewInvitation, Role } from '../../api-types.ts';
import { useAccount, useAccountApi } from '../../session.tsx';
import { allRoles, teamKey } from './team.ts';

/** Asks for an address and a role, then shows the link once. */
export function Invite({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation('team');
  return (
    <Modal opened={opened} onClose={onClose} title={t('invite_title')} closeOnClickOutside={false}>
      {opened && <InviteForm onClose={onClose} />}
    </Modal>
  );
}

function InviteForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('team');
  const { account_id } = useAccount();
  const api = useAccountApi();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const [problem, setProblem] = useState<string | null>(null);
  const [made, setMade] = useState<NewInvitation | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      setMade(await api('POST /invitations', { body: { email, role } }));
      await queries.invalidateQueries({ queryKey: teamKey(account_id) });
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  if (made !== null) return <Link made={made} onDone={onClose} />;
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        {problem && (
          <Alert color="red" role="alert">
            {problem}
          </Alert>
        )}
        <TextInput
          label={t('email')}
          type="email"
          autoComplete="off"
          data-autofocus
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Radio.Group label={t('role')} value={role} onChange={(value) => setRole(value as Role)}>
          <Stack gap="xs" mt={6}>
            {allRoles.map((each) => (
              <Radio
                key={each}
                value={each}
                label={t(`common:role.${each}`)}
                description={t(`may.${each}`)}
              />
            ))}
          </Stack>
        </Radio.Group>
        <Group justify="flex-end">
          <PlainButton onClick={onClose}>{t('common:cancel')}</PlainButton>
          <Button type="submit" loading={busy}>
            {t('invite')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Link({ made, onDone }: { made: NewInvitation; onDone: () => void }) {
  const { t } = useTranslation('team');
  return (
    <Stack>
      <Text size="sm">{t(made.mailed ? 'link_mailed' : 'link_text', { email: made.email })}</Text>
      <TextInput
        label={t('link')}
        readOnly
        value={made.url}
        leftSection={<IconLink size={16} />}
        rightSection={<Copy text={made.url} what={t('link')} />}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Dimmed>{t('link_once')}</Dimmed>
      <Group justify="flex-end">
        <Button onClick={onDone}>{t('common:done')}</Button>
      </Group>
    </Stack>
  );
}
