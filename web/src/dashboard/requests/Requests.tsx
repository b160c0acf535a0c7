import {
  Anchor,
  Box,
  Button,
  Card,
  Group,
  Progress,
  Skeleton,
  Stack,
  Table,
  Text,
  Tooltip,
} from '@mantine/core';
import {
  IconActivity,
  IconChevronLeft,
  IconChevronRight,
  IconFilterOff,
} from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { useTranslation } from 'react-i18next';
import { Note, PlainButton, Dot } from '../../components/styles.ts';
import { isFinal } from '../../../../client/src/watch.ts';
import type { RequestEntry, RequestPage } from '../../api-types.ts';
import { Duration, StatusBadge, Usd, useLocale, usePercent, When } from '../../components/text.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { isShrunk } from '../../components/shrunk.ts';
import { Thumb } from '../../components/Thumb.tsx';
import { useLiveState } from '../../live.tsx';
import { formatUsd } from '../../money.ts';
import { useAccountPath } from '../../session.tsx';
import { filterNames, readSearch, type Search } from './request-entries.ts';
import { RequestFilters } from './RequestFilters.tsx';
import { useChoices, useKeyNames, usePage } from './requests-data.ts';
import { useIsNarrow } from '../../components/narrow.ts';
import './requests-words.ts';

/** The account's requests, updated live. */
export function Requests() {
  const { t } = useTranslation('requests');
  const search = useQueryOf(readSearch);
  const go = useGo();
  const page = usePage(search);
  const choices = useChoices();
  const isPhone = useIsNarrow();
  return (
    <>
      <PageTitle title={t('common:nav.requests')} text={t('text')}>
        <LiveBadge />
      </PageTitle>
      <RequestFilters
        search={search}
        choices={choices}
        isPhone={isPhone}
        onChange={(filters) => go(filters)}
      />
      {page.error && <Failure error={page.error} retry={() => void page.refetch()} />}
      {page.data ? (
        <Box style={{ opacity: page.isPlaceholderData ? 0.6 : 1 }} aria-busy={page.isFetching}>
          {page.data.data.length === 0 ? (
            <Nothing page={page.data} search={search} />
          ) : isPhone ? (
            <Cards entries={page.data.data} />
          ) : (
            <Lines entries={page.data.data} />
          )}
          <Pager page={page.data} search={search} />
        </Box>
      ) : (
        !page.error && <Loading />
      )}
    </>
  );
}

/** Changes the query; empty fields are left out. */
function useGo() {
  const navigate = useNavigate();
  return (search: Search) => void navigate({ to: '/dashboard/requests', search });
}

function LiveBadge() {
  const { t } = useTranslation('requests');
  const state = useLiveState();
  const color = { on: 'fare', waiting: 'yellow', paused: 'gray' }[state];
  return (
    <Tooltip label={t(`live_text.${state}`)}>
      <Dot color={color} role="status">
        {t(`live.${state}`)}
      </Dot>
    </Tooltip>
  );
}

function Loading() {
  const { t } = useTranslation('common');
  return (
    <Stack gap="xs" aria-label={t('loading')} role="status">
      {Array.from({ length: 8 }, (_, i) => (
        <Skeleton key={i} h={52} />
      ))}
    </Stack>
  );
}

function Nothing({ page, search }: { page: RequestPage; search: Search }) {
  const { t } = useTranslation('requests');
  const locale = useLocale();
  const go = useGo();
  if (!filterNames.some((name) => search[name] !== undefined)) {
    return (
      <Empty icon={<IconActivity />} title={t('empty_title')} text={t('empty_text')}>
        <Group justify="center">
          <Button component={Link} to="/studio">
            {t('empty_studio')}
          </Button>
          <PlainButton component={Link} to="/dashboard/keys">
            {t('empty_keys')}
          </PlainButton>
        </Group>
      </Empty>
    );
  }
  if (page.looked_to !== null) {
    const when = new Intl.DateTimeFormat(locale, {
      dateStyle: 'medium',
      timeStyle: 'short',
    }).format(new Date(page.looked_to));
    return (
      <Empty icon={<IconFilterOff />} title={t('further_title')} text={t('further_text', { when })}>
        <Button onClick={() => go({ ...search, cursor: page.next_cursor! })}>{t('further')}</Button>
      </Empty>
    );
  }
  return (
    <Empty icon={<IconFilterOff />} title={t('none_title')} text={t('none_text')}>
      <PlainButton onClick={() => go({})}>{t('clear')}</PlainButton>
    </Empty>
  );
}

function Lines({ entries }: { entries: RequestEntry[] }) {
  const { t } = useTranslation('requests');
  const navigate = useNavigate();
  return (
    <Table.ScrollContainer minWidth={820}>
      <Table verticalSpacing={8} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('column.model')}</Table.Th>
            <Table.Th>{t('column.status')}</Table.Th>
            <Table.Th>{t('column.time')}</Table.Th>
            <Table.Th>{t('column.key')}</Table.Th>
            <Table.Th ta="right">{t('column.duration')}</Table.Th>
            <Table.Th ta="right">{t('column.price')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <Table.Tr
              key={entry.request_id}
              style={{ cursor: 'pointer' }}
              onClick={(event) => {
                // The link inside does the same for keyboards and new tabs.
                if (event.target instanceof Element && event.target.closest('a')) return;
                const { request_id } = entry;
                void navigate({ to: '/dashboard/requests/$request_id', params: { request_id } });
              }}
            >
              <Table.Td maw={340}>
                <Group gap="sm" wrap="nowrap">
                  <Small entry={entry} />
                  <Box miw={0}>
                    <ModelLink entry={entry} />
                    <Note truncate ff="monospace">
                      {entry.request_id}
                    </Note>
                  </Box>
                </Group>
              </Table.Td>
              <Table.Td>
                <State entry={entry} />
              </Table.Td>
              <Table.Td>
                <Text size="sm" span>
                  <When at={entry.created_at} />
                </Text>
              </Table.Td>
              <Table.Td maw={150}>
                <KeyName id={entry.key_id} />
              </Table.Td>
              <Table.Td ta="right">
                <Took entry={entry} />
              </Table.Td>
              <Table.Td ta="right">
                <Price entry={entry} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Cards({ entries }: { entries: RequestEntry[] }) {
  return (
    <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
      {entries.map((entry) => (
        <Card key={entry.request_id} component="li" withBorder padding="sm" pos="relative">
          <Group gap="sm" wrap="nowrap" align="flex-start">
            <Small entry={entry} size={56} />
            <Box miw={0} flex={1}>
              <ModelLink entry={entry} wide />
              <Group justify="space-between" gap="xs" mt={4} wrap="nowrap" align="flex-start">
                <State entry={entry} />
                <Box ta="right">
                  <Price entry={entry} />
                </Box>
              </Group>
              <Group justify="space-between" gap="xs" mt={6} c="dimmed">
                <Text size="xs" span>
                  <When at={entry.created_at} />
                </Text>
                <Took entry={entry} size="xs" />
              </Group>
            </Box>
          </Group>
        </Card>
      ))}
    </Stack>
  );
}

function Small({ entry, size = 44 }: { entry: RequestEntry; size?: number }) {
  const path = useAccountPath();
  const { preview, request_id, kind } = entry;
  const isSmall = preview !== null && isShrunk(preview);
  const url = isSmall ? path(`/requests/${request_id}/thumbnail`) : preview?.url;
  return <Thumb preview={preview && { ...preview, url: url! }} kind={kind} size={size} />;
}

function ModelLink({ entry, wide = false }: { entry: RequestEntry; wide?: boolean }) {
  const { t } = useTranslation('requests');
  const { request_id, model_id } = entry;
  return (
    <Anchor
      component={Link}
      to={`/dashboard/requests/${request_id}`}
      underline="hover"
      c="inherit"
      fw={550}
      size="sm"
      title={t('opens', { id: request_id })}
      style={{
        display: 'block',
        overflow: 'hidden',
        textOverflow: 'ellipsis',
        whiteSpace: wide ? 'normal' : 'nowrap',
        overflowWrap: 'anywhere',
      }}
    >
      {model_id}
      {/* On the phone the whole card is the target. */}
      {wide && <span style={{ position: 'absolute', inset: 0 }} />}
    </Anchor>
  );
}

function State({ entry }: { entry: RequestEntry }) {
  const { t } = useTranslation('common');
  const percent = usePercent();
  const { status, progress } = entry;
  return (
    <Stack gap={4} align="flex-start">
      <StatusBadge status={status} />
      {status === 'IN_PROGRESS' && progress !== null && (
        <Progress
          value={progress * 100}
          w={100}
          size="sm"
          aria-label={`${t('status.IN_PROGRESS')}: ${percent(progress * 1_000_000)}`}
        />
      )}
    </Stack>
  );
}

function KeyName({ id }: { id: string }) {
  const { t } = useTranslation('requests');
  const keys = useKeyNames();
  if (!keys) return <Skeleton h={14} w={80} />;
  return (
    <Text size="sm" truncate>
      {keys.get(id)?.name ?? t('unknown_key')}
    </Text>
  );
}

function Took({ entry, size = 'sm' }: { entry: RequestEntry; size?: 'xs' | 'sm' }) {
  const { created_at, started_at, completed_at } = entry;
  // A request cancelled in the queue never started, so this is the time it waited.
  const to = isFinal(entry) ? completed_at : null;
  return (
    <Text size={size} span c={isFinal(entry) ? undefined : 'dimmed'}>
      <Duration from={started_at ?? created_at} to={to} />
    </Text>
  );
}

function Price({ entry }: { entry: RequestEntry }) {
  const { t } = useTranslation('requests');
  const { quoted_usd_micro: quoted, charged_usd_micro: charged } = entry;
  return (
    <>
      <Text size="sm" span c={charged === null ? 'dimmed' : undefined}>
        <Usd micro={charged ?? quoted} column />
      </Text>
      {charged !== quoted && (
        <Note className="number">
          {charged === null ? t('quoted') : t('of_quoted', { amount: `$${formatUsd(quoted)}` })}
        </Note>
      )}
    </>
  );
}

function Pager({ page, search }: { page: RequestPage; search: Search }) {
  const { t } = useTranslation('common');
  const go = useGo();
  const { next_cursor: older, previous_cursor: newer, data } = page;
  const isFirst = newer === null && search.cursor === undefined;
  if (isFirst && (older === null || data.length === 0)) return null;
  return (
    <Group justify="space-between" mt="md" component="nav" aria-label={t('requests:pages')}>
      <Group gap="xs">
        <PlainButton
          leftSection={<IconChevronLeft size={16} />}
          disabled={newer === null}
          onClick={() => go({ ...search, cursor: newer! })}
        >
          {t('newer')}
        </PlainButton>
        {newer !== null && (
          <Button variant="subtle" onClick={() => go({ ...search, cursor: undefined })}>
            {t('requests:newest')}
          </Button>
        )}
      </Group>
      <PlainButton
        rightSection={<IconChevronRight size={16} />}
        disabled={older === null}
        onClick={() => go({ ...search, cursor: older! })}
      >
        {t('older')}
      </PlainButton>
    </Group>
  );
}
