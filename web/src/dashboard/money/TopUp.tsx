import {
  Alert,
  Anchor,
  Button,
  Card,
  Group,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { IconArrowLeft, IconCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useQueryOf } from '../../address.ts';
import { Dimmed, Heading, PlainButton } from '../../components/styles.ts';
import { ownPath } from '../../own-path.ts';
import { topUpSearch } from './money-search.ts';
import { Copy } from '../../components/Copy.tsx';
import { Failure, messageOf } from '../../components/Failure.tsx';
import { useSubmit } from '../../components/Form.tsx';
import { formatUsd } from '../../money.ts';
import { useAccount, useAccountApi, useMay, useRoleForbids } from '../../session.tsx';
import { Deposit } from './Deposit.tsx';
import { MoneyFrame } from './MoneyFrame.tsx';
import { useAccountQuery, useReload } from '../../queries.ts';
import { useTranslation } from '../../i18n.ts';

export function TopUp() {
  const pays = useMay('pay');
  const { isFetched } = useAccountQuery('GET /v1/deposit-addresses', {}, { enabled: pays });
  // Whether there is an address decides where everything else stands.
  if (pays && !isFetched)
    return (
      <MoneyFrame part="top_up">
        <Back />
        <Skeleton h="60vh" />
      </MoneyFrame>
    );
  return (
    <MoneyFrame part="top_up">
      <Back />
      {pays && <Deposit />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Redeem />
        <Pay />
      </SimpleGrid>
    </MoneyFrame>
  );
}

/** Leads back to the studio, which keeps its form meanwhile. */
function Back() {
  const { t } = useTranslation('money');
  const { back } = useQueryOf(topUpSearch);
  if (back === undefined) return null;
  return (
    <PlainButton
      component="a"
      href={ownPath(back)}
      leftSection={<IconArrowLeft size={16} />}
      mb="md"
    >
      {t('back_to_studio')}
    </PlainButton>
  );
}

function Redeem() {
  const { t } = useTranslation('money');
  const pays = useMay('pay');
  const forbids = useRoleForbids('pay');
  const api = useAccountApi();
  const reload = useReload();
  const [code, setCode] = useState('');
  const redeem = useSubmit(() => api('POST /vouchers', { body: { code } }), {
    onSuccess: async () => {
      setCode('');
      await reload();
    },
  });
  const { data, error } = redeem;
  if (!pays && !forbids) return null;
  return (
    <Card withBorder padding="lg">
      <Heading mb={4}>{t('redeem')}</Heading>
      <Dimmed mb="md">{pays ? t('redeem_text') : t('may_not_pay')}</Dimmed>
      {pays && (
        <form onSubmit={redeem.submit}>
          <Stack>
            <TextInput
              label={t('code')}
              placeholder="FB-XXXX-XXXX-XXXX-XXXX-XXXX"
              required
              maxLength={100}
              autoComplete="off"
              autoCapitalize="characters"
              spellCheck={false}
              value={code}
              onChange={(event) => setCode(event.currentTarget.value.toUpperCase())}
              error={error ? messageOf(error) : undefined}
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            <Group>
              <Button type="submit" loading={redeem.isPending}>
                {t('redeem_action')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
      {data && (
        <Alert color="fare" icon={<IconCheck />} mt="md" role="status">
          <Text size="sm">
            {t(data.replayed ? 'redeemed_before' : 'redeemed', {
              amount: `$${formatUsd(data.amount_usd_micro)}`,
              available: `$${formatUsd(data.available_usd_micro)}`,
            })}
          </Text>
          <Anchor component={Link} to="/dashboard/money" size="sm" c="inherit">
            {t('see_statement')}
          </Anchor>
        </Alert>
      )}
    </Card>
  );
}

function Pay() {
  const { t } = useTranslation('money');
  const { account_id, status } = useAccount();
  const told = useAccountQuery('GET /top-up', {}, { staleTime: 60_000 });
  const email = told.data?.email;
  const how = status === 'suspended' ? t('pay_suspended') : (told.data?.text ?? t('pay_none'));
  return (
    <Card withBorder padding="lg">
      <Heading mb="md">{t('pay')}</Heading>
      {told.error && <Failure error={told.error} retry={() => void told.refetch()} />}
      {told.isPending && <Skeleton h={90} />}
      {told.data && (
        <Text
          size="sm"
          component="div"
          style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
        >
          <Linked text={how} />
        </Text>
      )}
      <Title order={3} fz="sm" mt="lg" mb={4}>
        {t('your_account')}
      </Title>
      {/* An account gets a made-up address if its owner's already belongs to another account. */}
      {email && !email.endsWith('.invalid') && <Known name={t('account_email')} text={email} />}
      <Known name={t('account_id')} text={account_id} />
    </Card>
  );
}

function Known({ name, text }: { name: string; text: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="sm" ff="monospace" title={name} className="wrap">
        {text}
      </Text>
      <Copy text={text} what={name} />
    </Group>
  );
}

/** The operator's plain text, with its URLs as links. */
function Linked({ text }: { text: string }) {
  return text.split(/(https?:\/\/[^\s<>"]+[^\s<>".,;:!?)])/).map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      <Anchor key={i} href={part} target="_blank" rel="noreferrer" inherit>
        {part}
      </Anchor>
    ),
  );
}
