import { Button, Checkbox, Group, Stack } from '@mantine/core';
import type { OperatorKey } from '../../api-types.ts';
import { Modal } from '../../components/Dialog.tsx';
import { FormModal } from '../../components/FormModal.tsx';
import { ShownOnce } from '../../components/ShownOnce.tsx';
import { useFields } from '../../components/Form.tsx';
import { useAction } from '../action.ts';
import './operator-keys-texts.ts';
import { NameInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

type Scope = OperatorKey['scopes'][number];
const scopes: Scope[] = ['read', 'accounts', 'keys', 'money', 'catalog'];

export function NewOperatorKey({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operator_keys');
  const act = useAction();
  const { values, set, field } = useFields({ name: '', scopes: [] as Scope[] });
  const body = { ...values, name: values.name.trim() };
  return (
    <FormModal
      onClose={onClose}
      title={t('new')}
      submit={t('create')}
      disabled={body.name === '' || body.scopes.length === 0}
      onSubmit={() => act('POST /operator-keys', { body })}
      made={({ key }) => <Shown secret={key} name={body.name} onClose={onClose} />}
    >
      <NameInput label={t('name')} description={t('name_hint')} data-autofocus {...field('name')} />
      <Checkbox.Group
        label={t('scopes')}
        description={t('scopes_hint')}
        value={values.scopes}
        onChange={(chosen) => set({ scopes: scopes.filter((scope) => chosen.includes(scope)) })}
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
