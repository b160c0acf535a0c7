import {
  Alert,
  Button,
  Card,
  Code,
  Grid,
  Group,
  Progress,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Dimmed, PlainButton } from '../../components/styles.ts';
import { Confirm } from '../../components/Confirm.tsx';
import { notice } from '../../components/frame/notice.ts';
import { IconRefresh } from '@tabler/icons-react';
import { usePathPart } from '../../address.ts';
import { isFinal } from '../../../../client/src/watch.ts';
import type { RequestDetail } from '../../api-types.ts';
import { Copy } from '../../components/Copy.tsx';
import { showFailure } from '../../components/Failure.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { useMoment } from '../../components/text.tsx';
import { Media } from '../../components/Media.tsx';
import { Part } from '../../components/frame/Part.tsx';
import { Snippet } from '../../components/Snippet.tsx';
import { useSettings } from '../../entry/signing-in.ts';
import { formatUsd } from '../../money.ts';
import { useAccountApi, useMay } from '../../session.tsx';
import { useRequest } from './request-detail.ts';
import { MetadataCard, PriceCard } from './RequestAside.tsx';
import { useKeyName } from './requests-data.ts';
import {
  FactsCard,
  Loaded,
  RequestFrame,
  TimelineCard,
  WebhookCard,
  Why,
} from '../../requests/RequestPage.tsx';
import { useReload } from '../../queries.ts';
import './request-texts.ts';
import { BackLink } from '../../components/frame/BackLink.tsx';
import { fieldOf, itemsOf } from '../../../../client/src/unknown.ts';
import { programs } from '../../../../server/src/core/snippets.ts';
import { useTranslation } from '../../i18n.ts';

/** One request in full. */
export function Request() {
  const of = useRequest(usePathPart('request_id'));
  return <Loaded of={of}>{(request) => <Whole request={request} />}</Loaded>;
}

function Whole({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const { error, cleared_at, status } = request;
  const keyName = useKeyName(request.key_id);
  return (
    <RequestFrame
      request={request}
      back={<BackLink to="/dashboard/requests">{t('list')}</BackLink>}
      actions={<Actions request={request} />}
      state={
        <>
          {error && <Why request={request}>{<ToDo code={error.code} />}</Why>}
          {!isFinal(request) && <UnderWay request={request} />}
          {cleared_at && <Cleared at={cleared_at} />}
          {status === 'COMPLETED' && !cleared_at && <Outputs request={request} />}
        </>
      }
      aside={
        <>
          <PriceCard request={request} />
          <TimelineCard request={request} />
          <WebhookCard request={request} />
          <MetadataCard request={request} />
          <FactsCard request={request} keyName={keyName} />
        </>
      }
    >
      {!cleared_at && <Input request={request} />}
      <SameInCode request={request} />
    </RequestFrame>
  );
}

function Actions({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const { request_id, model_id, status, kind } = request;
  if (!useMay('build')) return null;
  return (
    <>
      {status === 'IN_QUEUE' && <Cancel request={request} />}
      {kind !== 'text' && (
        <Button
          component="a"
          href={`/studio/${model_id}?from=${request_id}`}
          variant={status === 'IN_QUEUE' ? 'default' : 'filled'}
          leftSection={<IconRefresh size={16} />}
        >
          {t('again')}
        </Button>
      )}
    </>
  );
}

function ToDo({ code }: { code: string }) {
  const { t } = useTranslation('request');
  const todo = `error.${code}`;
  return (
    <Text size="sm" mt={4}>
      {t(todo, { defaultValue: '' })} {t('error_free')}
    </Text>
  );
}

function UnderWay({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const { status, progress, queue_position: ahead, logs } = request;
  const isQueued = status === 'IN_QUEUE';
  return (
    <Card withBorder component="section" aria-live="polite">
      <Title order={2} fz="md">
        {isQueued ? t('waiting') : t('running')}
      </Title>
      {isQueued && ahead !== null && <Dimmed mt={4}>{t('ahead', { count: ahead })}</Dimmed>}
      {!isQueued && (
        <Progress
          mt="sm"
          value={progress === null ? 100 : progress * 100}
          animated={progress === null}
          striped={progress === null}
          aria-label={t('running')}
        />
      )}
      {logs.length > 0 && (
        <Code block mt="sm" mah={200} tabIndex={0} role="region" aria-label={t('logs')}>
          {logs.join('\n')}
        </Code>
      )}
    </Card>
  );
}

function Cleared({ at }: { at: string }) {
  const { t } = useTranslation('request');
  const moment = useMoment();
  return <Alert color="gray">{t('cleared', { when: moment(at) })}</Alert>;
}

function Outputs({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const moment = useMoment();
  const { outputs, output, expires_at, model_id, kind } = request;
  const when = expires_at ? moment(expires_at) : '';
  const living = outputs.some(({ url }) => url !== null);
  const { text, rest } = partsOf(output);
  const isEmpty = outputs.length === 0 && text === null && rest === null;
  const many = outputs.length > 1;
  return (
    <Part
      title={kind === 'text' ? t('reply') : t('outputs')}
      text={living ? t('kept_until', { when }) : undefined}
    >
      <Stack gap="md">
        {isEmpty && <Dimmed>{kind === 'text' ? t('chat_not_kept') : t('no_outputs')}</Dimmed>}
        {outputs.length > 0 && (
          <Grid gap="md">
            {outputs.map((medium, i) => (
              <Grid.Col key={medium.index} span={{ base: 12, xs: many ? 6 : 12 }}>
                <Media
                  medium={medium}
                  alt={t('alt', { n: i + 1, model: model_id })}
                  gone={t('gone', { when })}
                />
              </Grid.Col>
            ))}
          </Grid>
        )}
        {text !== null && (
          <Group align="flex-start" wrap="nowrap" justify="space-between">
            <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{text}</Text>
            <Copy text={text} what={t('reply')} />
          </Group>
        )}
        {rest !== null && (
          <div>
            <Dimmed mb={4}>{t('more_output')}</Dimmed>
            <JsonView value={rest} what={t('more_output')} />
          </div>
        )}
      </Stack>
    </Part>
  );
}

/** The generated text (for a chat call, the model's message) and the remaining fields. */
function partsOf(output: RequestDetail['output']): { text: string | null; rest: object | null } {
  if (output === null) return { text: null, rest: null };
  const { text, ...rest } = output;
  const message = fieldOf(itemsOf(output.choices)[0], 'message');
  const said = typeof text === 'string' ? text : fieldOf(message, 'content');
  const other = typeof text === 'string' ? rest : output;
  return {
    text: typeof said === 'string' ? said : null,
    rest: Object.keys(other).length === 0 ? null : other,
  };
}

function Input({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const isChat = request.kind === 'text';
  return (
    <Part title={t('input')} text={isChat ? t('chat_input') : undefined}>
      <JsonView value={request.input} what={t('input')} />
    </Part>
  );
}

function SameInCode({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const settings = useSettings();
  const { model_id, kind, input, cleared_at } = request;
  if (!settings || cleared_at !== null) return null;
  const isChat = kind === 'text';
  const { max_tokens } = input;
  const messages = [{ role: 'user', content: '…' }];
  const shown = isChat ? { messages, ...(max_tokens !== undefined && { max_tokens }) } : input;
  return (
    <Part title={t('code')} text={`${t('code_text')} ${isChat ? t('code_chat') : ''}`}>
      <Snippet
        what={t('code')}
        code={programs({ base_url: settings.base_url, model_id, kind, input: shown })}
      />
    </Part>
  );
}

function Cancel({ request }: { request: RequestDetail }) {
  const { t } = useTranslation('request');
  const api = useAccountApi();
  const reload = useReload();
  const [open, { open: ask, close }] = useDisclosure(false);
  const { request_id } = request;
  const amount = `$${formatUsd(request.quoted_usd_micro)}`;
  const cancel = async () => {
    await api('POST /v1/requests/:request_id/cancel', { params: { request_id } }).then(
      () => notice({ message: t('cancelled', { amount }) }),
      // The request may just have started: the reload shows that.
      showFailure,
    );
    void reload();
  };
  return (
    <>
      <PlainButton onClick={ask}>{t('cancel')}</PlainButton>
      <Confirm
        opened={open}
        title={t('cancel_title')}
        action={t('cancel')}
        keep={t('cancel_keep')}
        onConfirm={cancel}
        onClose={close}
      >
        {t('cancel_text', { amount })}
      </Confirm>
    </>
  );
}
