import { Alert, Button, Card, Grid, Group, Stack, Text } from '@mantine/core';
import { Dimmed } from '../../components/styles.ts';
import { IconRefresh } from '@tabler/icons-react';
import { usePathPart } from '../../address.ts';
import { isFinal } from '../../../../client/src/watch.ts';
import type { RequestDetail } from '../../api-types.ts';
import { Copy } from '../../components/Copy.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { useMoment } from '../../components/text.tsx';
import { Media } from '../../components/Media.tsx';
import { SectionCard } from '../../components/frame/SectionCard.tsx';
import { Snippet } from '../../components/Snippet.tsx';
import { useSettings } from '../../entry/signing-in.ts';
import { useMay } from '../../session.tsx';
import { useRequest } from '../../requests/request-data.ts';
import { CancelRequest } from '../../requests/CancelRequest.tsx';
import { UnderWay } from '../../requests/UnderWay.tsx';
import { DownloadButton } from '../../components/DownloadButton.tsx';
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
          {!isFinal(request) && (
            <Card withBorder component="section">
              <UnderWay request={request} />
            </Card>
          )}
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
  const { request_id, model_id, status, kind, outputs } = request;
  const [output] = outputs;
  if (!useMay('build')) return null;
  return (
    <>
      <CancelRequest request={request} />
      {kind !== 'text' && (
        <Button
          component="a"
          href={`/studio/${model_id}?from=${request_id}`}
          variant={isFinal(request) && status !== 'COMPLETED' ? 'filled' : 'default'}
          leftSection={<IconRefresh size={16} />}
        >
          {status === 'FAILED' ? t('common:retry') : t('again')}
        </Button>
      )}
      {output?.url && <DownloadButton file={{ ...output, url: output.url }} />}
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
    <SectionCard
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
    </SectionCard>
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
    <SectionCard title={t('input')} text={isChat ? t('chat_input') : undefined}>
      <JsonView value={request.input} what={t('input')} />
    </SectionCard>
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
    <SectionCard title={t('code')} text={`${t('code_text')} ${isChat ? t('code_chat') : ''}`}>
      <Snippet
        what={t('code')}
        code={programs({ base_url: settings.base_url, model_id, kind, input: shown })}
      />
    </SectionCard>
  );
}
