import { Box, Group, Text, UnstyledButton } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconCheck, IconFile, IconMusic } from '@tabler/icons-react';
import { useState, type KeyboardEvent } from 'react';
import { dayMs } from '../../components/date/days.ts';
import { useMoment, useLocale } from '../../components/text.tsx';
import { Dimmed } from '../../components/styles.ts';
import { useIsNarrow } from '../../components/narrow.ts';
import { justified } from './justified.ts';
import classes from './Library.module.css';
import type { Entry, LibraryOutput } from './library-data.ts';
import { Star } from '../Star.tsx';
import { Still } from './Still.tsx';
import { useTranslation } from '../../i18n.ts';

/** One output on the wall. */
export interface WallItem {
  entry: Entry;
  output: LibraryOutput;
}

export interface WallSelection {
  /** Ids of the chosen requests; null while the wall opens what is pressed. */
  chosen: ReadonlySet<string> | null;
  toggle: (entry: Entry) => void;
}

const gap = 8;

/** The kept outputs as rows of pictures, by day. */
export function Wall(props: {
  items: WallItem[];
  choosing: WallSelection;
  onOpen: (item: WallItem) => void;
}) {
  const { items, choosing, onOpen } = props;
  const { t } = useTranslation('library');
  const { ref, width } = useElementSize();
  // Only one tile is in the order of the Tab key; arrow keys move it.
  const [current, setCurrent] = useState<string | null>(null);
  const known = items.some((item) => keyOf(item) === current);
  const stop = known ? current : items[0] && keyOf(items[0]);
  return (
    <section ref={ref} aria-label={t('wall')} onKeyDown={(event) => moveFocus(event)} data-wall>
      {daysOf(items).map(([day, ofDay]) => (
        <Day key={day} day={day} items={ofDay}>
          {width > 0 && (
            <Rows
              items={ofDay}
              width={width}
              tile={(item, size) => (
                <Tile
                  key={keyOf(item)}
                  item={item}
                  size={size}
                  choosing={choosing}
                  isStop={keyOf(item) === stop}
                  onFocus={() => setCurrent(keyOf(item))}
                  onOpen={onOpen}
                />
              )}
            />
          )}
        </Day>
      ))}
    </section>
  );
}

export const keyOf = ({ entry, output }: WallItem) => `${entry.request_id} ${output.index}`;

function daysOf(items: WallItem[]): [day: string, items: WallItem[]][] {
  const days = new Map<string, WallItem[]>();
  for (const item of items) {
    const day = new Date(item.entry.created_at).toDateString();
    days.set(day, [...(days.get(day) ?? []), item]);
  }
  return [...days];
}

function Day(props: { day: string; items: WallItem[]; children: React.ReactNode }) {
  const { day, items, children } = props;
  const { t } = useTranslation('library');
  const date = useMoment({ dateStyle: 'full' });
  const locale = useLocale();
  const ends = items.map(({ entry }) => Date.parse(entry.expires_at ?? ''));
  const hours = Math.max(0, Math.floor((Math.min(...ends) - Date.now()) / 3_600_000));
  const when = new Intl.RelativeTimeFormat(locale).format(Math.max(1, hours), 'hour');
  const ago = Math.round((startOf(Date.now()) - startOf(Date.parse(day))) / dayMs);
  const name = ago === 0 ? t('today') : ago === 1 ? t('yesterday') : date(day);
  return (
    <Box mb="lg">
      <Group gap={8} mb={8} align="baseline">
        <Text component="h2" fz={14} fw={500} m={0}>
          {name}
        </Text>
        <Dimmed>{t('kept', { when })}</Dimmed>
      </Group>
      {children}
    </Box>
  );
}

function startOf(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

type Size = { width: number; height: number };

function Rows(props: {
  items: WallItem[];
  width: number;
  tile: (item: WallItem, size: Size) => React.ReactNode;
}) {
  const { items, width, tile } = props;
  const height = useIsNarrow() ? 130 : 220;
  const rows = justified(items, ({ output }) => ratioOf(output), { width, height, gap });
  return rows.map((row) => (
    <div
      key={keyOf(row.items[0]!.item)}
      className={classes.row}
      style={{ height: row.height, containIntrinsicSize: `auto ${row.height}px` }}
    >
      {row.items.map(({ item, width: wide }) => tile(item, { width: wide, height: row.height }))}
    </div>
  ));
}

function ratioOf({ width, height }: LibraryOutput): number {
  return width && height ? width / height : 1;
}

function Tile(props: {
  item: WallItem;
  size: Size;
  choosing: WallSelection;
  isStop: boolean;
  onFocus: () => void;
  onOpen: (item: WallItem) => void;
}) {
  const { item, size, choosing, isStop, onFocus, onOpen } = props;
  const { entry, output } = item;
  const { t } = useTranslation('library');
  const { chosen, toggle } = choosing;
  const isChosen = chosen?.has(entry.request_id) ?? false;
  const what = entry.prompt || t('a_run');
  const isSelecting = chosen !== null;
  return (
    <div
      className={classes.tile}
      style={size}
      data-chosen={isChosen || undefined}
      data-selecting={isSelecting || undefined}
    >
      <UnstyledButton
        className={classes.open}
        data-tile={entry.request_id}
        tabIndex={isStop ? 0 : -1}
        title={what}
        aria-label={t(isSelecting ? 'choose' : 'open', { what })}
        {...(isSelecting && { role: 'checkbox', 'aria-checked': isChosen })}
        onFocus={onFocus}
        onClick={() => (isSelecting ? toggle(entry) : onOpen(item))}
        onKeyDown={(event) => {
          if (event.key !== ' ') return;
          event.preventDefault();
          toggle(entry);
        }}
        // The space bar must not press the button as well.
        onKeyUp={(event) => event.key === ' ' && event.preventDefault()}
      >
        <Still output={output} what={what} icon={<Icon output={output} />} />
      </UnstyledButton>
      {output.duration !== undefined && (
        <span className={`${classes.over} ${classes.length} number`}>
          {timeOf(output.duration)}
        </span>
      )}
      {isSelecting ? (
        <span className={classes.check}>{isChosen && <IconCheck size={16} stroke={3} />}</span>
      ) : (
        <Star entry={entry} isStop={isStop} variant="default" className={classes.star} />
      )}
    </div>
  );
}

function Icon({ output }: { output: LibraryOutput }) {
  const isSound = output.content_type.startsWith('audio/');
  return isSound ? <IconMusic size={32} stroke={1.4} /> : <IconFile size={32} stroke={1.4} />;
}

/** 65.2 → "1:05". */
function timeOf(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** Arrow keys go to the tile beside, above or below; Home and End to the first and the last. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const tiles = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-tile]')];
  const at = tiles.findIndex((tile) => tile === document.activeElement);
  if (at === -1 || event.altKey || event.ctrlKey || event.metaKey) return;
  const to = targetOf(event.key, tiles, at);
  if (to === undefined) return;
  event.preventDefault();
  to.focus();
  to.scrollIntoView({ block: 'nearest' });
}

function targetOf(key: string, tiles: HTMLElement[], at: number): HTMLElement | undefined {
  if (key === 'ArrowRight') return tiles[at + 1];
  if (key === 'ArrowLeft') return tiles[at - 1];
  if (key === 'Home') return tiles[0];
  if (key === 'End') return tiles.at(-1);
  if (key !== 'ArrowDown' && key !== 'ArrowUp') return undefined;
  const from = tiles[at]!.getBoundingClientRect();
  const places = tiles.map((tile) => ({ tile, box: tile.getBoundingClientRect() }));
  const isDown = key === 'ArrowDown';
  const beyond = places.filter(({ box }) =>
    isDown ? box.top > from.top + 1 : box.top < from.top - 1,
  );
  const tops = beyond.map(({ box }) => box.top);
  const top = isDown ? Math.min(...tops) : Math.max(...tops);
  const middle = from.left + from.width / 2;
  const away = (box: DOMRect) => Math.abs(box.left + box.width / 2 - middle);
  const row = beyond.filter(({ box }) => Math.abs(box.top - top) < 1);
  return row.toSorted((a, b) => away(a.box) - away(b.box))[0]?.tile;
}
