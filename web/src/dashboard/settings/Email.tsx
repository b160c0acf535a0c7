import { Alert, Badge, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { IconMail } from '@tabler/icons-react';
import { api } from '../../api.ts';
import { useAuthFailure } from '../../auth-words.ts';
import type { Me } from '../../api-types.ts';
import { useSettings } from '../../entry/signing-in.ts';
import { SettingsCard } from './SettingsCard.tsx';

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
  const inWords = useAuthFailure();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await api('POST /api/me/email', { body: { email, ...(hasPassword && { password }) } });
      setSent(email);
      setEmail('');
      setPassword('');
    } catch (error) {
      setProblem(inWords(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="sm">
        {sent !== null && (
          <Alert color="fare" variant="light" role="status">
            {t('email_sent', { email: sent })}
          </Alert>
        )}
        {problem && (
          <Alert color="red" role="alert">
            {problem}
          </Alert>
        )}
        <TextInput
          label={t('new_email')}
          type="email"
          autoComplete="email"
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        {hasPassword && (
          <PasswordInput
            label={t('your_password')}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={email.trim() === ''}>
            {t('change_email')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
