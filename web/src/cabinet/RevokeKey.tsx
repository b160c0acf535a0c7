import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../api.ts';
import { Failure } from '../components/Failure.tsx';
import { useKeyChange, type Key } from './key-data.ts';

/** Asks for the name first: what uses this key stops at once. */
export function RevokeKey({ revoked, onClose }: { revoked: Key | null; onClose: () => void }) {
  const { t } = useTranslation('keys');
  return (
    <Modal
      opened={revoked !== null}
      onClose={onClose}
      title={revoked && t('revoke_title', { name: revoked.name })}
      transitionProps={{ duration: 0 }}
    >
      {revoked && <Asked revoked={revoked} onClose={onClose} />}
    </Modal>
  );
}

function Asked({ revoked, onClose }: { revoked: Key; onClose: () => void }) {
  const { t } = useTranslation('keys');
  const [typed, setTyped] = useState('');
  const revoke = useKeyChange((_given: null, path) =>
    call<Key>(path(`/keys/${revoked.key_id}`), { method: 'DELETE' }),
  );
  const isNamed = typed.trim() === revoked.name;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isNamed) revoke.mutate(null, { onSuccess: onClose });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">{t('revoke_text')}</Text>
        <TextInput
          label={t('revoke_name', { name: revoked.name })}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        {revoke.error && <Failure error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common:cancel')}
          </Button>
          <Button type="submit" color="red" disabled={!isNamed} loading={revoke.isPending}>
            {t('revoke')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
