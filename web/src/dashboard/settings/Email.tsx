import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { IconMail } from '@tabler/icons-react';
import { useFields, Form } from '../../components/Form.tsx';
import { api } from '../../api.ts';
import { useAuthFailure } from '../../auth-texts.ts';
import type { Me } from '../../api-types.ts';
import { useSettings } from '../../entry/signing-in.ts';
import { SettingsCard } from './SettingsCard.tsx';
import { EmailInput, Password } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

/** The e-mail address that the user signs in with, and how to change it. */
export function EmailCard({ me, hasPassword }: { me: Me; hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  const settings = useSettings();
  return (
    <SettingsCard icon={<IconMail size={20} />} title={t('email')} text={t('email_text')}>
      <Stack gap="sm">
        <Group gap="xs">
          <Text className="wrap">{me.email}</Text>
          {me.email_verified && <Badge variant="light">{t('confirmed')}</Badge>}
        </Group>
        {settings?.has_mail === false && <Text size="sm">{t('email_operator')}</Text>}
        {settings?.has_mail && <EmailForm hasPassword={hasPassword} />}
      </Stack>
    </SettingsCard>
  );
}

function EmailForm({ hasPassword }: { hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  const { values, set, field } = useFields({ email: '', password: '' });
  const { email, password } = values;
  const [sent, setSent] = useState<string | null>(null);
  const submit = async () => {
    await api('POST /api/me/email', { body: { email, ...(hasPassword && { password }) } });
    setSent(email);
    set({ email: '', password: '' });
  };
  return (
    <Form
      onSubmit={submit}
      action={t('change_email')}
      disabled={email.trim() === ''}
      inWords={useAuthFailure()}
      gap="sm"
    >
      {sent !== null && (
        <Alert color="fare" role="status">
          {t('email_sent', { email: sent })}
        </Alert>
      )}
      <EmailInput label={t('new_email')} autoComplete="email" {...field('email')} />
      {hasPassword && <Password label={t('your_password')} {...field('password')} />}
    </Form>
  );
}
