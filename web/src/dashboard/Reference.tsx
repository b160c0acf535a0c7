import {
  Alert,
  Badge,
  Box,
  Button,
  Card,
  Code,
  FileInput,
  Grid,
  Group,
  NavLink,
  ScrollArea,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  Textarea,
  Title,
} from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../address.ts';
import { docsSearch } from './search.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { exactJson } from '../exact-json.ts';
import { typed } from '../components/typed.ts';
import { call, reached } from '../api.ts';
import { Failure, messageOf } from '../components/Failure.tsx';
import { Snippet } from '../components/snippets/Snippet.tsx';
import { useAccountPath, useMay, useRoleForbids } from '../session.tsx';
import { operationsOf, type Document, type Operation, type Parameter } from './openapi.ts';

/** Every call of the API, from the service's OpenAPI document, with a form to try it. */
export default function Reference() {
  const { t } = useTranslation('docs');
  const { op } = useQueryOf(docsSearch);
  const navigate = useNavigate();
  const [wanted, setWanted] = useState('');
  const document = useQuery({
    queryKey: ['openapi'],
    queryFn: () => call<Document>('/v1/openapi.json'),
    staleTime: 300_000,
  });
  if (document.error)
    return <Failure error={document.error} retry={() => void document.refetch()} />;
  if (!document.data) return <Skeleton h={400} />;
  const all = operationsOf(document.data);
  const words = wanted.toLowerCase().split(/\s+/);
  const fitting = all.filter((each) => {
    const text = `${each.method} ${each.path} ${each.summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const chosen =
    all.find(({ id }) => id === op) ?? all.find(({ id }) => id === 'submit') ?? all[0]!;
  const go = (id: string) => void navigate({ to: '/dashboard/docs/reference', search: { op: id } });
  return (
    <Grid gap="xl">
      <Grid.Col span={{ base: 12, md: 4 }}>
        <TextInput
          aria-label={t('find')}
          placeholder={t('find')}
          mb="sm"
          {...typed(wanted, setWanted)}
        />
        <ScrollArea.Autosize mah={{ base: 240, md: '70vh' }} type="auto" scrollbars="y">
          {fitting.length === 0 && <Text c="dimmed">{t('nothing')}</Text>}
          {fitting.map((each) => (
            <NavLink
              key={each.id}
              component="button"
              active={each.id === chosen.id}
              onClick={() => go(each.id)}
              label={each.summary}
              description={each.path}
              styles={{ description: { overflowWrap: 'anywhere' } }}
              leftSection={<Method name={each.method} />}
              style={{ borderRadius: 8 }}
            />
          ))}
        </ScrollArea.Autosize>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 8 }}>
        <OperationView key={chosen.id} operation={chosen} />
      </Grid.Col>
    </Grid>
  );
}

function Method({ name }: { name: string }) {
  return (
    <Badge variant="light" color={name === 'GET' ? 'blue' : 'fare'} radius="sm" w={52} px={0}>
      {name}
    </Badge>
  );
}

function OperationView({ operation }: { operation: Operation }) {
  const { t } = useTranslation('docs');
  return (
    <Stack>
      <div>
        <Title order={2} fz="xl">
          {operation.summary}
        </Title>
        <Group gap="xs" mt={4}>
          <Method name={operation.method} />
          <Code fz={14} className="wrap">
            {operation.path}
          </Code>
        </Group>
      </div>
      {operation.description.split('\n\n', 1).map((part) => (
        <Text key={part}>{part.replaceAll('`', '')}</Text>
      ))}
      <Try operation={operation} />
      <Title order={3} fz="md">
        {t('replies')}
      </Title>
      <Table verticalSpacing="xs">
        <Table.Tbody>
          {operation.replies.map(({ status, text }) => (
            <Table.Tr key={status}>
              <Table.Th w={70} scope="row">
                {status}
              </Table.Th>
              <Table.Td style={{ whiteSpace: 'pre-line' }}>{text}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {operation.example !== null && (
        <Snippet what={t('replies')} code={JSON.stringify(operation.example, null, 2)} />
      )}
    </Stack>
  );
}

interface Filled {
  values: Record<string, string>;
  body: string;
  file: File | null;
}

function Try({ operation }: { operation: Operation }) {
  const { t } = useTranslation('docs');
  const may = useMay('build');
  const forbids = useRoleForbids('build');
  const path = useAccountPath();
  const [filled, setFilled] = useState<Filled>(() => ({
    values: Object.fromEntries(
      operation.parameters
        .filter(({ required }) => required)
        .map(({ name, example }) => [name, example]),
    ),
    body: operation.body === null ? '' : JSON.stringify(operation.body, null, 2),
    file: null,
  }));
  const send = useMutation({ mutationFn: () => perform(operation, filled, path) });
  if (operation.isForOthers || operation.needsKey) {
    return (
      <Alert variant="light" color="gray">
        {t(operation.isForOthers ? 'not_here' : 'key_only')}
      </Alert>
    );
  }
  const isBad = operation.body !== null && !isJson(filled.body);
  const changes = operation.method !== 'GET' && operation.id !== 'estimate';
  const spends = operation.id === 'submit' || operation.id === 'chatCompletions';
  return (
    <Card withBorder padding="lg">
      <Stack>
        {operation.parameters.map((parameter) => (
          <TextInput
            key={parameter.name}
            label={parameter.name}
            description={parameter.description.replaceAll('`', '')}
            required={parameter.required}
            value={filled.values[parameter.name] ?? ''}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setFilled((before) => ({
                ...before,
                values: { ...before.values, [parameter.name]: value },
              }));
            }}
          />
        ))}
        {operation.body !== null && (
          <Textarea
            label={t('body')}
            error={isBad && t('bad_json')}
            autosize
            minRows={3}
            maxRows={16}
            ff="monospace"
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
            value={filled.body}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setFilled((before) => ({ ...before, body: value }));
            }}
          />
        )}
        {operation.takesFile && (
          <FileInput
            label={t('file')}
            value={filled.file}
            onChange={(file) => setFilled((before) => ({ ...before, file }))}
          />
        )}
        <Group>
          <Button
            onClick={() => send.mutate()}
            loading={send.isPending}
            disabled={isBad || (changes && !may)}
          >
            {t('common:send')}
          </Button>
          {spends && may && <Text size="sm">{t('spends')}</Text>}
          {changes && forbids && <Text size="sm">{t('may_not')}</Text>}
        </Group>
        {send.error && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(send.error)}
          </Alert>
        )}
        {send.data && (
          <Box role="status">
            <Text size="sm" fw={500} mb={4}>
              {t('answer')} · {send.data.status} · {send.data.ms} ms
            </Text>
            {send.data.headers.map((line) => (
              <Code key={line} display="block" className="wrap" mb={4}>
                {line}
              </Code>
            ))}
            <Snippet what={t('answer')} code={send.data.text} />
          </Box>
        )}
      </Stack>
    </Card>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const shownHeaders = /^(x-request-id|x-ignored-fields|retry-after|(x-)?ratelimit.*)$/;

const shownMax = 20_000;

/** Makes the call as the signed-in user. Returns its reply as text, cut after `shownMax`. */
async function perform(
  operation: Operation,
  { values, body, file }: Filled,
  path: (p: string) => string,
) {
  const given = (where: Parameter['in']) =>
    operation.parameters.filter(({ in: place, name }) => place === where && values[name]);
  let target = operation.path;
  for (const { name } of given('path')) {
    const value = values[name]!;
    target = target.replace(`{${name}}`, name === 'model_id' ? value : encodeURIComponent(value));
  }
  const query = new URLSearchParams(given('query').map(({ name }) => [name, values[name]!]));
  const address = operation.isKeyed ? path(`/v1${target}`) : `/v1${target}`;
  const headers = new Headers(given('header').map(({ name }) => [name, values[name]!]));
  if (operation.body !== null) headers.set('content-type', 'application/json');
  if (file) headers.set('content-type', file.type);
  const begun = performance.now();
  const reply = await reached(
    fetch(`${address}${query.size > 0 ? `?${query}` : ''}`, {
      method: operation.method,
      headers,
      body: file ?? (operation.body === null ? null : body),
    }),
  );
  const text = await reached(readSome(reply));
  const shown = [...reply.headers].filter(([name]) => shownHeaders.test(name));
  return {
    status: reply.status,
    ms: Math.round(performance.now() - begun),
    headers: shown.map(([name, value]) => `${name}: ${value}`),
    text,
  };
}

async function readSome(reply: Response): Promise<string> {
  const type = reply.headers.get('content-type') ?? '';
  if (!/json|text/.test(type)) return `${type}, ${(await reply.blob()).size} bytes`;
  const text = await reply.text();
  const shown = type.includes('application/json') ? JSON.stringify(exactJson(text), null, 2) : text;
  return shown.length > shownMax ? `${shown.slice(0, shownMax)}\n…` : shown;
}
