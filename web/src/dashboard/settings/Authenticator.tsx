import { Badge, Box, Button, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { IconDeviceMobileCode, IconDownload } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { useState } from 'react';
import { useFields, Form } from '../../components/Form.tsx';
import { PlainButton } from '../../components/styles.ts';
import { authCall } from '../../api.ts';
import { useAuthFailure } from '../../auth-texts.ts';
import { Copy } from '../../components/Copy.tsx';
import { Modal } from '../../components/Dialog.tsx';
import type { Me } from '../../api-types.ts';
import { securityQuery } from './security.ts';
import { SettingsCard } from './SettingsCard.tsx';
import { meQuery } from '../../session.tsx';
import { saveText } from '../../components/save.ts';
import { Password } from '../../components/inputs.ts';
import { useTranslation } from '../../i18n.ts';

type Dialog = 'enable' | 'disable' | 'codes' | null;

/** Two-factor sign-in with an authenticator app that shows six digits. */
export function Authenticator({ me, hasPassword }: { me: Me; hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  const [dialog, setDialog] = useState<Dialog>(null);
  const isOn = me.two_factor_enabled;
  return (
    <SettingsCard
      icon={<IconDeviceMobileCode size={20} />}
      title={t('app')}
      text={hasPassword || isOn ? t('app_text') : t('app_needs_password')}
      status={
        <Badge variant={isOn ? 'light' : 'default'} color={isOn ? 'fare' : 'gray'}>
          {t(isOn ? 'on' : 'off')}
        </Badge>
      }
    >
      {(hasPassword || isOn) && (
        <Group justify="flex-end">
          {isOn ? (
            <>
              <PlainButton onClick={() => setDialog('codes')}>{t('new_codes')}</PlainButton>
              <PlainButton onClick={() => setDialog('disable')}>{t('turn_off')}</PlainButton>
            </>
          ) : (
            <Button onClick={() => setDialog('enable')}>{t('turn_on')}</Button>
          )}
        </Group>
      )}
      <AppDialog dialog={dialog} onClose={() => setDialog(null)} />
    </SettingsCard>
  );
}

const titles = { enable: 'app_enable', disable: 'app_disable', codes: 'new_codes' } as const;

/** Unmounted when closed, so that no secret stays in the page. */
function AppDialog({ dialog, onClose }: { dialog: Dialog; onClose: () => void }) {
  const { t } = useTranslation('settings');
  return (
    <Modal
      opened={dialog !== null}
      onClose={onClose}
      title={dialog && t(titles[dialog])}
      closeOnClickOutside={false}
    >
      {dialog === 'enable' && <Enable onDone={onClose} />}
      {dialog === 'disable' && <Disable onDone={onClose} />}
      {dialog === 'codes' && <NewCodes onDone={onClose} />}
    </Modal>
  );
}

/**
 * Turning two-factor sign-in on or off renews this session, so the user and the security data are
 * loaded again.
 */
function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    await queries.invalidateQueries({ queryKey: securityQuery.queryKey });
  };
}

interface Setup {
  totpURI: string;
  backupCodes: string[];
}

function Enable({ onDone }: { onDone: () => void }) {
  const [setup, setSetup] = useState<Setup | null>(null);
  const [confirmed, setConfirmed] = useState(false);
  const refresh = useRefresh();
  if (setup === null) {
    return (
      <PasswordStep
        action="next"
        work={async (password) =>
          setSetup(await authCall<Setup>('/two-factor/enable', { password }))
        }
      />
    );
  }
  if (!confirmed) {
    const confirm = async () => {
      setConfirmed(true);
      await refresh();
    };
    return <FirstCode uri={setup.totpURI} onConfirmed={confirm} />;
  }
  return <BackupCodes codes={setup.backupCodes} onDone={onDone} />;
}

function Disable({ onDone }: { onDone: () => void }) {
  const refresh = useRefresh();
  const { t } = useTranslation('settings');
  return (
    <PasswordStep
      action="turn_off"
      note={t('app_disable_text')}
      work={async (password) => {
        await authCall('/two-factor/disable', { password });
        await refresh();
        onDone();
      }}
    />
  );
}

function NewCodes({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation('settings');
  const [codes, setCodes] = useState<string[] | null>(null);
  if (codes !== null) return <BackupCodes codes={codes} onDone={onDone} />;
  return (
    <PasswordStep
      action="new_codes"
      note={t('new_codes_text')}
      work={async (password) => {
        const path = '/two-factor/generate-backup-codes';
        const { backupCodes } = await authCall<{ backupCodes: string[] }>(path, { password });
        setCodes(backupCodes);
      }}
    />
  );
}

function PasswordStep(props: {
  action: string;
  note?: string;
  work: (password: string) => Promise<void>;
}) {
  const { t } = useTranslation('settings');
  const { values, field } = useFields({ password: '' });
  return (
    <Form
      action={t(props.action)}
      onSubmit={() => props.work(values.password)}
      disabled={values.password === ''}
      inWords={useAuthFailure()}
      inDialog
    >
      {props.note && <Text size="sm">{props.note}</Text>}
      <Password label={t('current_password')} data-autofocus {...field('password')} />
    </Form>
  );
}

function FirstCode({ uri, onConfirmed }: { uri: string; onConfirmed: () => Promise<void> }) {
  const { t } = useTranslation('settings');
  const [code, setCode] = useState('');
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return (
    <Form
      action={t('confirm')}
      disabled={code.length !== 6}
      inWords={useAuthFailure()}
      inDialog
      onSubmit={async () => {
        await authCall('/two-factor/verify-totp', { code });
        await onConfirmed();
      }}
    >
      <Text size="sm">{t('scan')}</Text>
      <Box bg="white" p="md" mx="auto" style={{ borderRadius: 8, lineHeight: 0 }}>
        <QRCodeSVG value={uri} size={180} title={t('qr')} />
      </Box>
      <div>
        <Text size="sm">{t('secret_text')}</Text>
        <Group gap="xs" wrap="nowrap">
          <Code style={{ wordBreak: 'break-all' }}>{secret.replace(/(.{4})(?=.)/g, '$1 ')}</Code>
          <Copy text={secret} what={t('secret')} />
        </Group>
      </div>
      <TextInput
        label={t('code')}
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={6}
        required
        value={code}
        onChange={(event) => setCode(event.currentTarget.value.replace(/\D/g, ''))}
      />
    </Form>
  );
}

function BackupCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const { t } = useTranslation('settings');
  const text = codes.join('\n');
  const download = () => saveText('farebox-backup-codes.txt', `${text}\n`, 'text/plain');
  return (
    <Stack>
      <Text size="sm">{t('codes_text')}</Text>
      <SimpleGrid cols={2} spacing="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {codes.map((code) => (
          <Code key={code} component="li" ta="center" fz="sm" py={6}>
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <Group gap="xs">
          <Copy text={text} what={t('codes')} />
          <PlainButton leftSection={<IconDownload size={16} />} onClick={download} size="sm">
            {t('common:download')}
          </PlainButton>
        </Group>
        <Button onClick={onDone}>{t('common:done')}</Button>
      </Group>
    </Stack>
  );
}
