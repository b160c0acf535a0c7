import './webhooks-texts.ts';
import {
  Alert,
  Anchor,
  Badge,
  Box,
  Button,
  Card,
  Code,
  Group,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useFields, useSubmit } from '../../components/Form.tsx';
import { Dimmed, Heading, PlainButton, QuietIcon, RowButton } from '../../components/styles.ts';
import { notice } from '../../components/frame/notice.ts';
import { IconEye, IconEyeOff, IconSend, IconWebhook } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { webhooksSearch } from '../search.ts';
import type { Delivery } from '../../api-types.ts';
import { Clipped } from '../../components/Clipped.tsx';
import { Confirm } from '../../components/Confirm.tsx';
import { Copy } from '../../components/Copy.tsx';
import { type Column, column } from '../../components/list/DataList.tsx';
import { Failure, messageOf, showFailure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Snippet } from '../../components/Snippet.tsx';
import { When } from '../../components/text.tsx';
import { useAccountApi, useMay, useRoleForbids } from '../../session.tsx';
import { PagedList } from '../../components/list/PagedList.tsx';
import { useAccountKey, useAccountPages, useAccountQuery, useReload } from '../../queries.ts';
import { errorText, useTranslation } from '../../i18n.ts';

export function Webhooks() {
  const { t } = useTranslation('webhooks');
  const builds = useMay('build');
  const { isFetched } = useAccountQuery('GET /webhooks', {});
  return (
    <>
      <PageTitle title={t('common:nav.webhooks')} text={t('text')} />
      <Stack gap="xl">
        <Secrets />
        {/* The reply, or its failure, decides how high the secrets are. */}
        {isFetched && (
          <>
            {builds && <TestSend />}
            <Deliveries />
          </>
        )}
      </Stack>
    </>
  );
}

function Secrets() {
  const { t } = useTranslation('webhooks');
  const api = useAccountApi();
  const key = useAccountKey();
  const builds = useMay('build');
  const forbids = useRoleForbids('build');
  const queries = useQueryClient();
  const secrets = useAccountQuery('GET /webhooks', {});
  const change = useMutation({
    mutationFn: (verb: 'rotate' | 'retire') =>
      api(verb === 'rotate' ? 'POST /webhooks/rotate' : 'POST /webhooks/retire'),
    onSuccess: (data) => queries.setQueryData(key('GET /webhooks', {}), data),
  });
  const [isConfirming, { open, close }] = useDisclosure(false);
  const known = secrets.data?.secrets;
  return (
    <Card withBorder padding="lg">
      <Heading mb={4}>{t('secrets')}</Heading>
      <Dimmed mb="md">{t('secrets_text')}</Dimmed>
      {secrets.error && <Failure error={secrets.error} retry={() => void secrets.refetch()} />}
      {secrets.isPending && <Skeleton h={{ base: 57, sm: 36 }} />}
      <Stack gap="sm">
        {known?.map((secret, i) => (
          <Secret
            key={secret}
            secret={secret}
            name={known.length === 1 ? t('secrets') : t(i === 0 ? 'newer' : 'older')}
            labelled={known.length > 1}
            canReveal={!forbids}
          />
        ))}
      </Stack>
      {known?.length === 2 && (
        <Text size="sm" mt="sm">
          {t('both')}
        </Text>
      )}
      {forbids && <Dimmed mt="sm">{t('secret_hidden')}</Dimmed>}
      {builds && !secrets.error && (
        <Group mt="md">
          {known?.length !== 2 ? (
            <PlainButton
              onClick={() => change.mutate('rotate', { onError: showFailure })}
              disabled={!known}
              loading={change.isPending}
            >
              {t('rotate')}
            </PlainButton>
          ) : (
            <PlainButton onClick={open}>{t('retire')}</PlainButton>
          )}
        </Group>
      )}
      <Confirm
        opened={isConfirming}
        title={t('retire_title')}
        action={t('retire')}
        onClose={close}
        onConfirm={() => change.mutateAsync('retire')}
      >
        {t('retire_text')}
      </Confirm>
    </Card>
  );
}

function Secret(props: { secret: string; name: string; labelled: boolean; canReveal: boolean }) {
  const { secret, name, labelled, canReveal } = props;
  const { t } = useTranslation('webhooks');
  const [seen, { toggle }] = useDisclosure(false);
  const text = seen || !canReveal ? secret : `${secret.slice(0, 8)}${'•'.repeat(24)}`;
  return (
    <Group gap="xs" wrap="nowrap">
      {labelled && (
        <Text size="sm" w={130} style={{ flexShrink: 0 }}>
          {name}
        </Text>
      )}
      <Code fz={13} p={8} className="wrap">
        {text}
      </Code>
      {canReveal && (
        <>
          <QuietIcon onClick={toggle} aria-label={t(seen ? 'hide' : 'show')}>
            {seen ? <IconEyeOff size={16} /> : <IconEye size={16} />}
          </QuietIcon>
          <Copy text={secret} what={name} />
        </>
      )}
    </Group>
  );
}

function TestSend() {
  const { t } = useTranslation('webhooks');
  const api = useAccountApi();
  const reload = useReload();
  const { values, field } = useFields({ url: '' });
  const send = useSubmit(() => api('POST /webhooks/test', { body: values }), {
    onSuccess: () => reload('GET /deliveries'),
  });
  const { data } = send;
  return (
    <Card withBorder padding="lg">
      <Heading mb={4}>{t('test')}</Heading>
      <Dimmed mb="md">{t('test_text')}</Dimmed>
      <form onSubmit={send.submit}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t('common:address')}
            type="url"
            required
            placeholder="https://example.com/hooks/farebox"
            style={{ flex: '1 1 260px' }}
            {...field('url')}
          />
          <Button type="submit" leftSection={<IconSend size={16} />} loading={send.isPending}>
            {t('common:send')}
          </Button>
        </Group>
      </form>
      {(data || send.error) && (
        <Alert mt="md" color={data?.delivered ? 'fare' : 'red'} role="status">
          {data
            ? t(data.delivered ? 'test_ok' : 'test_bad', {
                status: data.status,
                error: errorOf(data),
                ms: data.duration_ms,
              })
            : messageOf(send.error, { url: t('common:address') })}
        </Alert>
      )}
      <Title order={3} fz="sm" mt="lg" mb="xs">
        {t('check')}
      </Title>
      <Snippet what={t('check')} code={checks} />
    </Card>
  );
}

const checks = {
  JavaScript: `import { Webhook } from 'standardwebhooks';

// Throws if the signature is not ours. The body must be the text as received.
const event = new Webhook(process.env.FAREBOX_WEBHOOK_SECRET).verify(body, headers);
// event.request_id, event.status: fetch event.response_url with your key.`,
  Python: `from standardwebhooks.webhooks import Webhook

event = Webhook(os.environ["FAREBOX_WEBHOOK_SECRET"]).verify(body, headers)
# event["request_id"], event["status"]: fetch event["response_url"] with your key.`,
};

function Deliveries() {
  const { t } = useTranslation('webhooks');
  const navigate = useNavigate();
  const { failed } = useQueryOf(webhooksSearch);
  const list = useAccountPages('GET /deliveries', { query: { failed } });
  const columns = useColumns();
  return (
    <section>
      <Group justify="space-between" mb="md">
        <Heading>{t('deliveries')}</Heading>
        <SegmentedControl
          size="xs"
          aria-label={t('deliveries')}
          data={[
            { value: 'all', label: t('all') },
            { value: 'failed', label: t('failed') },
          ]}
          value={failed ? 'failed' : 'all'}
          onChange={(value) =>
            void navigate({
              to: '/dashboard/webhooks',
              search: value === 'failed' ? { failed: true } : {},
              replace: true,
            })
          }
        />
      </Group>
      <PagedList
        of={list}
        empty={{
          icon: <IconWebhook />,
          title: t(failed ? 'none_failed' : 'none_title'),
          text: t('none_text'),
        }}
        label={t('deliveries')}
        columns={columns}
        keyOf={({ delivery_id }) => delivery_id}
      />
    </section>
  );
}

function useColumns(): Column<Delivery>[] {
  const { t } = useTranslation('webhooks');
  const builds = useMay('build');
  return [
    column.plain(t('when'), (row) => <When at={row.created_at} />),
    column.plain(t('cause'), ({ cause, request_id }) => (
      <>
        {t(`causes.${cause}`)}
        {request_id && (
          <Anchor
            component={Link}
            to={`/dashboard/requests/${request_id}`}
            display="block"
            size="xs"
            ff="monospace"
            title={request_id}
          >
            {request_id.slice(0, 8)}…{request_id.slice(-4)}
          </Anchor>
        )}
      </>
    )),
    column.plain(t('common:address'), ({ url }) => (
      <Box maw={280}>
        <Clipped text={url} />
      </Box>
    )),
    column.plain(t('result'), (row) => (
      <Box maw={220}>
        <Badge variant="light" color={isTaken(row) ? 'fare' : 'red'}>
          {row.status ?? t('no_answer')}
        </Badge>
        {/* If the receiver answered, its HTTP status is shown as the reason. */}
        {row.status === null && row.error && <Clipped text={errorOf(row)} dimmed />}
      </Box>
    )),
    column.figure(t('took'), ({ duration_ms }) => <span className="number">{duration_ms} ms</span>),
    ...(builds
      ? [
          column.actions(
            ({ request_id }: Delivery) => request_id && <Resend request_id={request_id} />,
          ),
        ]
      : []),
  ];
}

function errorOf({ error, fault }: Pick<Delivery, 'error' | 'fault'>): string {
  return errorText({ code: fault ?? '', message: error ?? '' });
}

function isTaken({ status }: Pick<Delivery, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Sends the webhook of a finished request again. */
export function Resend({ request_id }: { request_id: string }) {
  const { t } = useTranslation('webhooks');
  const api = useAccountApi();
  const reload = useReload();
  const send = useMutation({
    mutationFn: () => api('POST /requests/:request_id/resend', { params: { request_id } }),
    onSuccess: (outcome) => {
      void reload('GET /deliveries', 'GET /requests/:request_id');
      notice(
        outcome.delivered
          ? { message: t('resent') }
          : {
              color: 'red',
              message: t('test_bad', { error: errorOf(outcome), ms: outcome.duration_ms }),
            },
      );
    },
    onError: showFailure,
  });
  return (
    <RowButton onClick={() => send.mutate()} loading={send.isPending}>
      {t('resend')}
    </RowButton>
  );
}
