import type { RestoredWhy } from '../core/restored.ts';
import { resumeAfterRestore } from '../operations/restored.ts';
import { counted, print, withDatabase, type Context } from './output.ts';

const reasons: Record<RestoredWhy, string> = {
  copy: 'it was restored from a dump, copied or imported',
  rewound: 'a process remembers a later state of it',
  timeline: 'its log is on a new timeline after a long pause',
};

export async function resumeRestored(
  context: Context,
  options: { dryRun?: boolean; releaseOpen?: boolean } = {},
): Promise<void> {
  const { dryRun: look = false, releaseOpen: release = false } = options;
  const done = await withDatabase(context, (db) => resumeAfterRestore(db, { look, release }));
  const { released: released_requests, ...told } = done;
  const { held, why, held_since, unfinished } = told;
  const resumed = held && !look;
  const shown = { ok: true, ...told, released_requests, resumed };
  const { queued, running, to_notify } = unfinished;
  const left = [
    `start ${counted(queued, 'job')} from the queue`,
    `go on with ${counted(running, 'job')} at upstreams`,
    `send ${counted(to_notify, 'notification')}`,
  ].join(', ');
  const since = held_since === null ? '' : ` It has kept still since ${held_since.toISOString()}.`;
  const lines = held
    ? [
        `This database is a restored copy: ${reasons[why!]}.${since}`,
        ...(released_requests > 0
          ? [`Ended with their reservations given back: open requests ${released_requests}.`]
          : []),
        resumed ? `It goes on now, and will ${left}.` : `When it goes on, it will ${left}.`,
        ...(resumed ? [] : ['What ran since the backup may run, and be paid, a second time.']),
      ]
    : ['This database is not held: everything goes on.'];
  print(context, shown, lines.join('\n'));
}
