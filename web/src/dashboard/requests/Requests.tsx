import { Anchor, Box, Button, Group, Skeleton, Text, Tooltip } from '@mantine/core';
import {
  IconActivity,
  IconChevronLeft,
  IconChevronRight,
  IconFilterOff,
} from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../../address.ts';
import { PlainButton, Dot } from '../../components/styles.ts';
import type { RequestEntry, RequestPage } from '../../api-types.ts';
import { useMoment, When } from '../../components/text.tsx';
import { type Column, column, DataList } from '../../components/list/DataList.tsx';
import { Empty } from '../../components/list/Empty.tsx';
import {
  RequestLine,
  RequestName,
  RequestPrice,
  RequestState,
  RequestTook,
} from '../../requests/columns.tsx';
import { Failure } from '../../components/Failure.tsx';
import { PageTitle } from '../../components/frame/PageTitle.tsx';
import { Thumb } from '../../components/Thumb.tsx';
import { useLiveState } from '../../live.tsx';
import { useModelNames } from '../../requests/model-names.tsx';
import { filterNames, readSearch, type Search } from './request-entries.ts';
import { RequestFilters } from './RequestFilters.tsx';
import { useChoices, useKeyNames, usePage } from './requests-data.ts';
import { Refusals } from './Refusals.tsx';
import { useTranslation } from '../../i18n.ts';
import './requests-texts.ts';

/** The account's requests, updated live. */
export function Requests() {
  const { t } = useTranslation('requests');
  const search = useQueryOf(readSearch);
  const go = useGo();
  const page = usePage(search);
  const choices = useChoices();
  return (
    <>
      <PageTitle title={t('common:nav.requests')} text={t('text')}>
        <LiveBadge />
      </PageTitle>
      <RequestFilters search={search} choices={choices} onChange={(filters) => go(filters)} />
      {search.status === 'REFUSED' ? (
        <Refusals search={search} />
      ) : (
        <Found page={page} search={search} />
      )}
    </>
  );
}

function Found({ page, search }: { page: ReturnType<typeof usePage>; search: Search }) {
  return (
    <>
      {page.error && <Failure error={page.error} retry={() => void page.refetch()} />}
      {page.data ? (
        <Box style={{ opacity: page.isPlaceholderData ? 0.6 : 1 }} aria-busy={page.isFetching}>
          {page.data.data.length === 0 ? (
            <Nothing page={page.data} search={search} />
          ) : (
            <Entries entries={page.data.data} />
          )}
          <Pager page={page.data} search={search} />
        </Box>
      ) : (
        !page.error && <Entries entries={undefined} />
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

function Nothing({ page, search }: { page: RequestPage; search: Search }) {
  const { t } = useTranslation('requests');
  const moment = useMoment();
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
    const when = moment(page.looked_to);
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

/** `entries`: undefined while loading. */
function Entries({ entries }: { entries: RequestEntry[] | undefined }) {
  const { t } = useTranslation('requests');
  const navigate = useNavigate();
  const nameOf = useModelNames();
  const columns: Column<RequestEntry>[] = [
    column.plain(t('column.request'), (entry) => (
      <RequestName
        request_id={entry.request_id}
        thumb={<Small entry={entry} />}
        model={nameOf(entry.model_id)}
      >
        <PromptLink entry={entry} />
      </RequestName>
    )),
    column.plain(t('column.status'), (entry) => <RequestState request={entry} />),
    column.plain(t('column.time'), ({ created_at }) => (
      <Text size="sm" span>
        <When at={created_at} />
      </Text>
    )),
    column.plain(t('column.key'), ({ key_id }) => <KeyName id={key_id} />),
    column.figure(t('column.duration'), (entry) => <RequestTook request={entry} />),
    column.figure(t('column.price'), (entry) => <RequestPrice request={entry} />),
  ];
  return (
    <DataList
      label={t('common:nav.requests')}
      columns={columns}
      rows={entries}
      keyOf={({ request_id }) => request_id}
      open={({ request_id }) =>
        void navigate({ to: '/dashboard/requests/$request_id', params: { request_id } })
      }
      card={(entry) => (
        <RequestLine
          request={entry}
          thumb={<Small entry={entry} size={44} />}
          note={nameOf(entry.model_id)}
        >
          <PromptLink entry={entry} wide />
        </RequestLine>
      )}
      tableFrom={820}
    />
  );
}

function Small({ entry, size = 36 }: { entry: RequestEntry; size?: number }) {
  const [first = null] = entry.outputs;
  return <Thumb preview={first} kind={entry.kind} size={size} />;
}

/** A chat keeps no words, so its model names it. */
function PromptLink({ entry, wide = false }: { entry: RequestEntry; wide?: boolean }) {
  const { t } = useTranslation('requests');
  const nameOf = useModelNames();
  const { request_id, model_id, prompt } = entry;
  return (
    <Anchor
      component={Link}
      to={`/dashboard/requests/${request_id}`}
      underline="hover"
      c="inherit"
      fw={500}
      size="sm"
      title={t('opens', { id: request_id })}
      dir="auto"
      {...(wide ? { lineClamp: 2 } : { truncate: true, display: 'block' })}
    >
      {prompt || nameOf(model_id)}
      {/* In a narrow list the whole row is the target. */}
      {wide && <span style={{ position: 'absolute', inset: 0 }} />}
    </Anchor>
  );
}

function KeyName({ id }: { id: string }) {
  const { t } = useTranslation('requests');
  const keys = useKeyNames();
  if (!keys) return <Skeleton h={14} w={80} />;
  return (
    <Text size="sm" truncate maw={150}>
      {keys.get(id)?.name ?? t('unknown_key')}
    </Text>
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
