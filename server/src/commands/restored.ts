import { formatUsd } from '../core/price/money.ts';
import type { Step } from '../core/request/request.ts';
import type { RestoredWhy } from '../core/restored.ts';
import { sumOf, type UnfinishedWork } from '../db/requests/unfinished.ts';
import { resumeAfterRestore } from '../operations/restored.ts';
import { withDatabase } from './database.ts';
import { countText, table, type TableColumns, type Context, type CommandOutput } from './output.ts';

const reasons: Record<RestoredWhy, string> = {
  copy: 'it was restored from a dump, copied or imported',
  rewound: 'a running process has seen a later state of it',
  timeline:
    'its write-ahead log is on a new timeline after a long pause, so it was probably restored',
};

interface ResumeInput {
  dry_run?: boolean;
  release_open?: boolean;
}

export async function resumeRestored(
  { dry_run: look = false, release_open: release = false }: ResumeInput,
  context: Context,
): Promise<CommandOutput> {
  const done = await withDatabase(context, (db) => resumeAfterRestore(db, { look, release }));
  const { found, ...told } = done;
  const { held, why, held_since, unfinished } = told;
  const resumed = held && !look;
  const { requests, reserved_usd_micro } = sumOf(held && release ? found : { ...found, work: [] });
  const released = { released_requests: requests, released_usd_micro: reserved_usd_micro };
  const since =
    held_since === null ? '' : ` It has been on hold since ${held_since.toISOString()}.`;
  const ends = `${countText(requests, 'open request')} and gives USD ${formatUsd(reserved_usd_micro)} back`;
  const lines = held
    ? [
        `This database is a restored copy: ${reasons[why!]}.${since}`,
        ...(release
          ? [`${resumed ? 'This ends' : 'With --release-open, resuming ends'} ${ends}.`]
          : []),
        resumed ? 'It is resumed. Next steps:' : 'Next steps once it is resumed:',
        ...workLines(unfinished),
        ...(resumed || release
          ? []
          : ['Jobs that ran after the backup may run again and be paid for twice.']),
      ]
    : ['This database is not on hold: work goes on as usual.'];
  return { json: { ok: true, ...told, ...released, resumed }, text: lines.join('\n') };
}

const words: Partial<Record<Step, string>> = {
  start: 'start (costs money)',
  poll: 'poll',
  recover: 'search for the lost answer',
  give_up: 'end as timeout after a last poll',
  call_off: 'end as cancelled: no upstream has the job',
  abandon: 'end: the chat call was cut off',
};

const columns: TableColumns<UnfinishedWork['work'][number]> = {
  UPSTREAM: 'upstream',
  NEXT: ({ does }) => words[does] ?? does,
  JOBS: 'jobs',
  'RESERVED USD': 'reserved_usd_micro',
};

/** A table of the steps that a worker would take, by upstream. */
export function workLines(unfinished: UnfinishedWork): string[] {
  const { work, to_notify, to_notify_later, events_to_send } = unfinished;
  const later = to_notify_later === 0 ? '' : `, and ${to_notify_later} when their requests end`;
  return [
    ...(work.length > 0 ? [table(work, columns)] : []),
    `Notifications to send: ${to_notify}${later}.`,
    ...(events_to_send === 0 ? [] : [`Events to the operator to send: ${events_to_send}.`]),
  ];
}
