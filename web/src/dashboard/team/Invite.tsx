import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { IconLink } from '@tabler/icons-react';
import { useState } from 'react';
import { useFields, Form } from '../../components/Form.tsx';
import { Dimmed } from '../../components/styles.ts';
import { Copy } from '../../components/Copy.tsx';
import { Modal } from '../../components/Dialog.tsx';
import type { NewInvitation, Role } from '../../api-types.ts';
import { useAccountApi } from '../../session.tsx';
import { allRoles } from './team.ts';
import { useReload } from '../../queries.ts';
import { EmailInput } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

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
  const api = useAccountApi();
  const reload = useReload();
  const { values, field } = useFields({ email: '', role: 'developer' as Role });
  const [made, setMade] = useState<NewInvitation | null>(null);
  const submit = async () => {
    setMade(await api('POST /invitations', { body: values }));
    await reload('GET /team');
  };
  if (made !== null) return <Link made={made} onDone={onClose} />;
  return (
    <Form onSubmit={submit} action={t('invite')} onCancel={onClose} inDialog>
      <EmailInput label={t('email')} data-autofocus {...field('email')} />
      <Radio.Group label={t('role')} {...field('role')}>
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
    </Form>
  );
}

function Link({ made, onDone }: { made: NewInvitation; onDone: () => void }) {
  const { t } = useTranslation('team');
  return (
    <Stack>
      <Text size="sm">{t(made.mailed ? 'link_mailed' : 'link_text', { email: made.email })}</Text>
      <TextInput
        label={t('common:link')}
        readOnly
        value={made.url}
        leftSection={<IconLink size={16} />}
        rightSection={<Copy text={made.url} what={t('common:link')} />}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Dimmed>{t('link_once')}</Dimmed>
      <Group justify="flex-end">
        <Button onClick={onDone}>{t('common:done')}</Button>
      </Group>
    </Stack>
  );
}
