import { Text } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { ApiFailure } from '../api.ts';
import { useAuthFailure } from '../auth-texts.ts';
import { Form, useFields } from '../components/Form.tsx';
import { Password } from '../components/inputs.ts';
import { useTranslation } from '../i18n.ts';

/** The form of a link's page. It asks for the password only where the service does. */
export function HolderForm(props: {
  onSubmit: (given: { password?: string }) => Promise<unknown>;
  action: string;
  children: ReactNode;
}) {
  const { t } = useTranslation('entry');
  const inWords = useAuthFailure();
  const [isAsked, setAsked] = useState(false);
  const { values, field } = useFields({ password: '' });
  const submit = async () => {
    try {
      await props.onSubmit(isAsked ? values : {});
    } catch (error) {
      const isNeeded = error instanceof ApiFailure && error.reason === 'password_needed';
      if (!isNeeded || isAsked) throw error;
      setAsked(true);
    }
  };
  return (
    <Form onSubmit={submit} action={props.action} inWords={inWords} wide>
      {props.children}
      {isAsked && (
        <>
          <Text role="status" size="sm">
            {t('holder_text')}
          </Text>
          <Password label={t('password')} autoFocus {...field('password')} />
        </>
      )}
    </Form>
  );
}
