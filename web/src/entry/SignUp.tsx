import { Anchor, Text } from '@mantine/core';
import { useState } from 'react';
import { api, InWords } from '../api.ts';
import { Frame } from './Frame.tsx';
import { signInWithPassword, useContinue, useSettings } from './signing-in.ts';
import { Form, useFields } from '../components/Form.tsx';
import { QueryLink, useQueryOf } from '../address.ts';
import { entrySearch } from './search.ts';
import { EmailInput, NewPassword, NameInput } from '../components/inputs.ts';
import { useTranslation } from '../i18n.ts';

export function SignUp() {
  const { t } = useTranslation('entry');
  const { to, token } = useQueryOf(entrySearch);
  const settings = useSettings();
  const [sent, setSent] = useState<string | null>(null);
  if (sent !== null) {
    return (
      <Frame title={t('check_mail_title')}>
        <Text>{t('check_mail', { email: sent })}</Text>
      </Frame>
    );
  }
  const shut = settings && token === undefined && settings.sign_up !== 'open';
  return (
    <Frame title={t('sign_up')}>
      {shut && <Text>{t(settings.sign_up === 'closed' ? 'closed' : 'invite_only')}</Text>}
      {settings && !shut && (
        <SignUpForm to={to} token={token} min={settings.password_min} onSent={setSent} />
      )}
      <Text size="sm" ta="center">
        {t('have_account')}{' '}
        <Anchor component={QueryLink} to="/sign-in" search={{ to }} size="sm">
          {t('sign_in')}
        </Anchor>
      </Text>
    </Frame>
  );
}

interface FormProps {
  to: string | undefined;
  token: string | undefined;
  min: number;
  /** The address, if it is fixed, as in an invitation. */
  email?: string;
  onSent: (email: string) => void;
}

/** Also used for invitations, which give the address. */
export function SignUpForm({ to, token, min, email: given, onSent }: FormProps) {
  const { t } = useTranslation('entry');
  const goOn = useContinue(to);
  const { values, field } = useFields({ name: '', email: given ?? '', password: '' });
  const submit = async () => {
    const body = { ...values, ...(token !== undefined && { token }) };
    const { status } = await api('POST /api/sign-up', { body });
    if (status === 'check_mail') return onSent(values.email);
    const taken = () => Promise.reject(new InWords(t('taken')));
    await signInWithPassword(values.email, values.password).then(goOn, taken);
  };
  return (
    <Form onSubmit={submit} action={t('sign_up')} wide>
      <NameInput label={t('name')} autoComplete="name" {...field('name')} />
      <EmailInput
        label={t('email')}
        autoComplete="username"
        readOnly={given !== undefined}
        {...field('email')}
      />
      <NewPassword
        label={t('password')}
        description={t('password_hint', { min })}
        minLength={min}
        {...field('password')}
      />
    </Form>
  );
}
