import { Anchor } from '@mantine/core';
import { notice } from '../../components/frame/notice.ts';
import { IconLock } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { authCall } from '../../api.ts';
import { useAuthFailure } from '../../auth-texts.ts';
import { useSettings } from '../../entry/signing-in.ts';
import { securityQuery } from './security.ts';
import { SettingsCard } from './SettingsCard.tsx';
import { Form, useFields } from '../../components/Form.tsx';
import { Password, NewPassword } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

export function PasswordCard({ hasPassword }: { hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  if (hasPassword) {
    return (
      <SettingsCard icon={<IconLock size={20} />} title={t('password')} text={t('password_text')}>
        <PasswordForm />
      </SettingsCard>
    );
  }
  return (
    <SettingsCard icon={<IconLock size={20} />} title={t('password')} text={t('no_password')}>
      <Anchor component={Link} to="/forgot" size="sm">
        {t('set_password')}
      </Anchor>
    </SettingsCard>
  );
}

const nothing = { currentPassword: '', newPassword: '' };

function PasswordForm() {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const { values, set, field } = useFields(nothing);
  const min = useSettings()?.password_min ?? 10;
  const submit = async () => {
    await authCall('/change-password', { ...values, revokeOtherSessions: true });
    set(nothing);
    notice({ message: t('password_changed') });
    await queries.invalidateQueries({ queryKey: securityQuery.queryKey });
  };
  return (
    <Form
      onSubmit={submit}
      action={t('change_password')}
      disabled={values.newPassword === ''}
      inWords={useAuthFailure()}
      gap="sm"
    >
      <Password label={t('current_password')} {...field('currentPassword')} />
      <NewPassword
        label={t('new_password')}
        description={t('password_hint', { min })}
        minLength={min}
        {...field('newPassword')}
      />
    </Form>
  );
}
