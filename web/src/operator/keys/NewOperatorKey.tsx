import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OperatorKey } from '../../api-types.ts';
import { Modal } from '../../components/Dialog.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';
import { typed } from '../../components/typed.ts';
import { useAction } from '../action.ts';
import './operator-keys-words.ts';

type Scope = OperatorKey['scopes'][number];
const scopes: Scope[] = ['read', 'accounts', 'keys', 'money'];

export function NewOperatorKey({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_keys');
  const act = useAction();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<Scope[]>([]);
  const [secret, setSecret] = useState<string | null>(null);
  const submit = async () => {
    const body = { name: name.trim(), scopes: chosen };
    setSecret((await act('POST /operator-keys', { body })).key);
  };
  if (secret !== null) return <Shown secret={secret} name={name.trim()} onClose={onClose} />;
  return (
    <FormModal
      onClose={onClose}
      title={t('new')}
      submit={t('create')}
      disabled={name.trim() === '' || chosen.length === 0}
      onSubmit={submit}
    >
      <TextInput
        label={t('name')}
        description={t('name_hint')}
        maxLength={100}
        required
        data-autofocus
        {...typed(name, setName)}
      />
      <Checkbox.Group
        label={t('scopes')}
        description={t('scopes_hint')}
        value={chosen}
        onChange={(values) => setChosen(scopes.filter((scope) => values.includes(scope)))}
        required
      >
        <Stack gap="sm" mt="xs">
          {scopes.map((scope) => (
            <Checkbox
              key={scope}
              value={scope}
              label={t(`scope.${scope}`)}
              description={t(`scope_hint.${scope}`)}
            />
          ))}
        </Stack>
      </Checkbox.Group>
    </FormModal>
  );
}

function Shown(props: { secret: string; name: string; onClose: () => void }) {
  const { t } = useTranslation('operator_keys');
  return (
    // Only its button closes the dialog, because the key is shown once.
    <Modal
      opened
      onClose={props.onClose}
      title={props.name}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <ShownOnce
          title={t('made_title')}
          text={t('made_text')}
          secret={props.secret}
          what={t('key')}
        />
        <Group justify="flex-end">
          <Button onClick={props.onClose}>{t('done')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
