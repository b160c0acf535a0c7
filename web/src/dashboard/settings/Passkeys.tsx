import { ActionIcon, Badge, Box, Group, Skeleton, Text, TextInput, Tooltip } from '@mantine/core';
import { IconFingerprint, IconPencil, IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useFields, Form } from '../../components/Form.tsx';
import { Note, PlainButton, QuietIcon } from '../../components/styles.ts';
import { authCall } from '../../api.ts';
import { useAuthFailure } from '../../auth-texts.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { Modal } from '../../components/Dialog.tsx';
import { Failure } from '../../components/Failure.tsx';
import { When } from '../../components/text.tsx';
import { browserOf } from './browser-name.ts';
import { SettingsCard } from './SettingsCard.tsx';
import { useTranslation } from '../../i18n.ts';

interface Passkey {
  id: string;
  name: string | null;
  createdAt: string;
  backedUp: boolean;
}

const keysQuery = {
  queryKey: ['me', 'passkeys'],
  queryFn: () => authCall<Passkey[]>('/passkey/list-user-passkeys'),
};

/** Passkeys need a host name; they do not work on an IP address. */
const isPossible = () =>
  typeof PublicKeyCredential !== 'undefined' && !/^[\d.]+$|^\[/.test(location.hostname);

/** Passkeys: a fingerprint, a face or a PIN instead of the password. */
export function Passkeys() {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const keys = useQuery(keysQuery);
  const [naming, setNaming] = useState<Passkey | 'new' | null>(null);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  const nameOf = (key: Passkey | null) => key?.name ?? t('passkey');
  const remove = async () => {
    await authCall('/passkey/delete-passkey', { id: removing!.id });
    await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
  };
  return (
    <SettingsCard
      icon={<IconFingerprint size={20} />}
      title={t('passkeys')}
      text={isPossible() ? t('passkeys_text') : t('passkeys_impossible')}
    >
      {keys.error && <Failure error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isPending && <Skeleton h={40} />}
      {keys.data && keys.data.length > 0 && (
        <ul className="rows">
          {keys.data.map((key) => (
            <Group key={key.id} component="li" justify="space-between" wrap="nowrap">
              <Box miw={0}>
                <Group gap="xs">
                  <Text fw={600} size="sm" style={{ wordBreak: 'break-word' }}>
                    {nameOf(key)}
                  </Text>
                  {key.backedUp && (
                    <Badge size="sm" variant="default">
                      {t('synced')}
                    </Badge>
                  )}
                </Group>
                <Note>
                  {t('added')} <When at={key.createdAt} />
                </Note>
              </Box>
              <Group gap={4} wrap="nowrap">
                <Tooltip label={t('common:rename')}>
                  <QuietIcon
                    aria-label={`${t('common:rename')}: ${nameOf(key)}`}
                    onClick={() => setNaming(key)}
                  >
                    <IconPencil size={17} />
                  </QuietIcon>
                </Tooltip>
                <Tooltip label={t('common:remove')}>
                  <ActionIcon
                    variant="subtle"
                    color="red"
                    aria-label={`${t('common:remove')}: ${nameOf(key)}`}
                    onClick={() => setRemoving(key)}
                  >
                    <IconTrash size={17} />
                  </ActionIcon>
                </Tooltip>
              </Group>
            </Group>
          ))}
        </ul>
      )}
      {isPossible() && (
        <Group justify="flex-end">
          <PlainButton onClick={() => setNaming('new')}>{t('add_passkey')}</PlainButton>
        </Group>
      )}
      <Modal
        opened={naming !== null}
        onClose={() => setNaming(null)}
        title={t(naming === 'new' ? 'add_passkey' : 'rename_passkey')}
      >
        {naming && <NameForm passkey={naming} onDone={() => setNaming(null)} />}
      </Modal>
      <Confirm
        opened={removing !== null}
        title={t('remove_passkey')}
        action={t('common:remove')}
        onConfirm={remove}
        onClose={() => setRemoving(null)}
      >
        {t('remove_passkey_text', { name: nameOf(removing) })}
      </Confirm>
    </SettingsCard>
  );
}

function NameForm({ passkey, onDone }: { passkey: Passkey | 'new'; onDone: () => void }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const { values, field } = useFields({
    name: passkey === 'new' ? thisDevice() : (passkey.name ?? ''),
  });
  const submit = async () => {
    if (passkey === 'new') await register(values.name);
    else await authCall('/passkey/update-passkey', { id: passkey.id, ...values });
    await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
    onDone();
  };
  return (
    <Form
      onSubmit={submit}
      action={t(passkey === 'new' ? 'next' : 'common:save')}
      inWords={useAuthFailure()}
      inDialog
    >
      <TextInput
        label={t('passkey_name')}
        description={passkey === 'new' ? t('passkey_name_text') : undefined}
        data-autofocus
        required
        maxLength={60}
        {...field('name')}
      />
    </Form>
  );
}

function thisDevice(): string {
  const { name, system } = browserOf(navigator.userAgent);
  return [name, system].filter(Boolean).join(', ');
}

async function register(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const path = '/passkey/generate-register-options';
  const optionsJSON = await authCall<Parameters<typeof startRegistration>[0]['optionsJSON']>(path);
  const response = await startRegistration({ optionsJSON });
  await authCall('/passkey/verify-registration', { response, name });
}
