import './studio-texts.ts';
import {
  Box,
  Group,
  SegmentedControl,
  Select,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconPhotoSearch, IconSearch } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useQueryOf } from '../address.ts';
import { gallerySearch } from './search.ts';
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { Dimmed, Note, Heading, PlainButton } from '../components/styles.ts';
import { FilterSelect } from '../components/list/FilterSelect.tsx';
import { Empty } from '../components/list/Empty.tsx';
import { Failure } from '../components/Failure.tsx';
import { PageTitle } from '../components/frame/PageTitle.tsx';
import { Cover } from './Cover.tsx';
import classes from './Gallery.module.css';
import type { Model } from '../api-types.ts';
import { addressOf, filterModels } from './models.ts';
import { useModels } from './price.ts';
import { Rate, useSeconds } from './form/Rate.tsx';
import { facts, StoppedNote, Uncensored } from './marks.tsx';
import { kinds, sorts, type GalleryFilter } from './form/gallery-filter.ts';
import { useTranslation } from '../i18n.ts';

/** All models: those that run as jobs and those of the chat. */
export function Gallery() {
  const { t } = useTranslation('studio');
  const wish = useQueryOf(gallerySearch);
  const navigate = useNavigate();
  const models = useModels();
  const change = (with_: GalleryFilter) =>
    void navigate({ to: '/studio', search: { ...wish, ...with_ }, replace: true });
  const shown = models.data ? filterModels(models.data, wish) : [];
  const isNarrowed = Boolean(wish.q || wish.kind || wish.task);

  return (
    <>
      <PageTitle title={t('gallery.title')} text={t('gallery.text')}>
        <PlainButton component="a" href="/models">
          {t('gallery.prices')}
        </PlainButton>
      </PageTitle>
      <Filters models={models.data ?? []} wish={wish} change={change} first={shown[0]} />
      {models.error && <Failure error={models.error} retry={() => void models.refetch()} />}
      {models.isPending && (
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
          {Array.from({ length: 9 }, (_, i) => (
            <Skeleton key={i} h={222} radius="md" />
          ))}
        </SimpleGrid>
      )}
      {models.data && shown.length === 0 && (
        <Empty
          icon={<IconPhotoSearch />}
          title={t('gallery.none_title')}
          text={isNarrowed ? t('gallery.none_text') : t('gallery.no_models')}
        >
          {isNarrowed && (
            <PlainButton onClick={() => change({ q: undefined, kind: undefined, task: undefined })}>
              {t('gallery.clear')}
            </PlainButton>
          )}
        </Empty>
      )}
      {isGrouped(wish) ? (
        <Stack gap="xl">
          {kinds.map((kind) => {
            const group = shown.filter((model) => model.kind === kind);
            return (
              group.length > 0 && (
                <section key={kind} aria-label={t(`gallery.kinds.${kind}`)}>
                  <Group gap="xs" mb="sm" align="baseline">
                    <Heading>{t(`gallery.kinds.${kind}`)}</Heading>
                    <Dimmed className="number">{group.length}</Dimmed>
                  </Group>
                  <Cards models={group} />
                </section>
              )
            );
          })}
        </Stack>
      ) : (
        <Cards models={shown} />
      )}
    </>
  );
}

function isGrouped({ q, kind, sort }: GalleryFilter): boolean {
  return !q && !kind && (sort ?? 'suggested') === 'suggested';
}

function Filters(props: {
  models: Model[];
  wish: GalleryFilter;
  change: (wish: GalleryFilter) => void;
  first: Model | undefined;
}) {
  const { models, wish, change, first } = props;
  const { t } = useTranslation('studio');
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(wish.q ?? '');
  useHotkeys([['/', () => field.current?.focus()]]);
  // The browser's back button restores the search text.
  useEffect(() => setText(wish.q ?? ''), [wish.q]);
  const ofKind = models.filter(({ kind }) => !wish.kind || kind === wish.kind);
  const offered = ofKind.map(({ task }) => task);
  const tasks = [...new Set(wish.task ? [...offered, wish.task] : offered)]
    .map((task) => ({ value: task, label: t(`task.${task}`, { defaultValue: task }) }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
  return (
    <Stack gap="sm" mb="lg">
      <Group gap="sm" align="end">
        <TextInput
          ref={field}
          flex="1 1 240px"
          aria-label={t('gallery.search')}
          placeholder={t('gallery.search')}
          leftSection={<IconSearch size={17} />}
          rightSection={
            <Note visibleFrom="sm" aria-hidden>
              /
            </Note>
          }
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value);
            change({ q: currentTarget.value || undefined });
          }}
          onKeyDown={({ key }) => {
            if (key === 'Enter' && first && wish.q) void navigate({ to: addressOf(first) });
          }}
        />
        {(tasks.length > 1 || wish.task) && (
          <FilterSelect
            label={t('gallery.task')}
            all={t('gallery.all_tasks')}
            data={tasks}
            value={wish.task}
            onChange={(task) => change({ task })}
            width={190}
          />
        )}
        <Select
          aria-label={t('gallery.sort_by')}
          data={sorts.map((each) => ({ value: each, label: t(`gallery.sort.${each}`) }))}
          value={wish.sort ?? 'suggested'}
          allowDeselect={false}
          w={{ base: 'calc(50% - 6px)', xs: 170 }}
          onChange={(sort) =>
            change({ sort: sort === 'suggested' ? undefined : sorts.find((each) => each === sort) })
          }
        />
      </Group>
      <SegmentedControl
        aria-label={t('gallery.kind')}
        style={{ alignSelf: 'start' }}
        data={[
          { value: '', label: t('gallery.all') },
          ...kinds.map((kind) => ({ value: kind, label: t(`gallery.kinds.${kind}`) })),
        ]}
        value={wish.kind ?? ''}
        onChange={(kind) => change({ kind: kind || undefined, task: undefined })}
      />
    </Stack>
  );
}

function Cards({ models }: { models: Model[] }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" onKeyDown={moveAmongCards}>
      {models.map((model) => (
        <ModelCard key={model.id} model={model} />
      ))}
    </SimpleGrid>
  );
}

/** Arrow keys move between cards, across groups. */
function moveAmongCards(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 0, ArrowUp: 0 }[event.key];
  if (step === undefined) return;
  const cards = [...document.querySelectorAll<HTMLElement>('[data-model-card]')];
  const at = cards.findIndex((card) => card === document.activeElement);
  if (at < 0) return;
  const next =
    step === 0 ? nearest(cards, cards[at]!, event.key === 'ArrowDown' ? 1 : -1) : cards[at + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/** The closest card in the next row up or down. */
function nearest(cards: HTMLElement[], from: HTMLElement, way: 1 | -1): HTMLElement | undefined {
  const { left, top } = from.getBoundingClientRect();
  const beyond = cards
    .map((card) => ({ card, box: card.getBoundingClientRect() }))
    .filter(({ box }) => (box.top - top) * way > 4);
  const row = Math.min(...beyond.map(({ box }) => Math.abs(box.top - top)));
  const inRow = beyond.filter(({ box }) => Math.abs(box.top - top) < row + 4);
  inRow.sort((a, b) => Math.abs(a.box.left - left) - Math.abs(b.box.left - left));
  return inRow[0]?.card;
}

function ModelCard({ model }: { model: Model }) {
  const { t } = useTranslation('studio');
  const seconds = useSeconds(model);
  return (
    <Link to={addressOf(model)} className={classes.card} data-model-card>
      <Cover model={model} />
      <Stack gap={6} p={{ base: 'sm', xs: 'md' }} flex={1} miw={0}>
        <Group gap={8} justify="space-between" wrap="nowrap" align="start">
          <Text fw={600} lh={1.3}>
            {model.name}
          </Text>
          {model.uncensored && <Uncensored />}
        </Group>
        <StoppedNote model={model} />
        <Dimmed lineClamp={2} className={classes.words}>
          {model.description}
        </Dimmed>
        <Box mt="auto" pt={6}>
          <Group gap="xs" justify="space-between" wrap="nowrap">
            <Rate model={model} />
            {seconds && <Note className="number">{seconds}</Note>}
          </Group>
          <Note mt={2} truncate>
            {[
              t(`task.${model.task}`, { defaultValue: model.task }),
              model.owned_by,
              ...facts(model, t),
            ].join(' · ')}
          </Note>
        </Box>
      </Stack>
    </Link>
  );
}
