import { splitSql } from '../../lib/sql/split.ts';

/** Says how each statement of a migration affects a service that runs on meanwhile. */

/** Locks of PostgreSQL that a statement of a migration takes, the weakest first. */
export const locks = [
  'ROW EXCLUSIVE',
  'SHARE UPDATE EXCLUSIVE',
  'SHARE',
  'SHARE ROW EXCLUSIVE',
  'ACCESS EXCLUSIVE',
] as const;
export type Lock = (typeof locks)[number];

/** `at once`: whatever the size of the table; otherwise it does this to all of it. */
const works = ['at once', 'reads', 'builds an index', 'writes'] as const;
export type Work = (typeof works)[number];

interface Effect {
  /** Absent: none. */
  lock?: Lock;
  work: Work;
  /** Why code of the version before may not run on; absent: it does. */
  contract?: string;
  /** Stops calls for too long, so write this in its place; absent: it does not. */
  instead?: string;
}

export interface MigrationStep extends Effect {
  statement: string;
  /** Tables that it locks, except those that its own migration makes. */
  tables: string[];
  /** It cannot be in a transaction. */
  isOutside: boolean;
  /** The index that it builds. */
  index?: string;
}

type Row = [form: string, effect: Effect];

const loses = 'code of the version before may still use it';
const limits = 'code of the version before may not keep to it';
const later = 'ADD CONSTRAINT … NOT VALID, then VALIDATE CONSTRAINT as a statement of its own';
const alters = { lock: 'ACCESS EXCLUSIVE', work: 'at once' } as const;

/** Actions of ALTER TABLE. The first form that fits counts. */
const actions: Row[] = [
  [
    'add column .*\\b(check|references|unique|primary key)\\b',
    { ...alters, work: 'reads', instead: later },
  ],
  [
    String.raw`add column .*\b(generated|default (?!(true|false|now\(\)|-?[\d.]+)( |$)|'))`,
    {
      ...alters,
      work: 'writes',
      instead: 'a constant as the default; the service fills the column in parts',
    },
  ],
  [String.raw`add column (?!.*\bdefault\b).*\bnot null\b`, { ...alters, contract: limits }],
  ['add column ', alters],
  ['add constraint NAME foreign key .* not valid$', { ...alters, lock: 'SHARE ROW EXCLUSIVE' }],
  ['add constraint NAME check .* not valid$', alters],
  ['add constraint NAME (unique|primary key) using index ', { ...alters, contract: limits }],
  [
    'add constraint NAME (unique|primary key|exclude) ',
    {
      ...alters,
      work: 'builds an index',
      instead: 'CREATE UNIQUE INDEX CONCURRENTLY, then ADD CONSTRAINT … USING INDEX',
    },
  ],
  ['add constraint NAME (check|foreign key) ', { ...alters, work: 'reads', instead: later }],
  ['validate constraint ', { lock: 'SHARE UPDATE EXCLUSIVE', work: 'reads' }],
  [
    'alter column NAME set not null$',
    {
      ...alters,
      work: 'reads',
      contract: limits,
      instead:
        'before it CHECK (NAME IS NOT NULL) NOT VALID and VALIDATE CONSTRAINT, in the same file',
    },
  ],
  ['alter column NAME set default ', alters],
  ['alter column NAME drop (default|not null)$', { ...alters, contract: loses }],
  [
    'alter column NAME (set data )?type ',
    { ...alters, work: 'writes', contract: loses, instead: 'a new column beside the old one' },
  ],
  ['(drop|rename) ', { ...alters, contract: loses }],
  ['set (un)?logged$', { ...alters, work: 'writes', instead: 'a new table beside the old one' }],
  [String.raw`set \(`, { lock: 'SHARE UPDATE EXCLUSIVE', work: 'at once' }],
];

/** Other statements; each locks TABLE. */
const statements: Row[] = [
  [
    String.raw`create (unlogged )?table (if not exists )?NAME \(`,
    { lock: 'SHARE ROW EXCLUSIVE', work: 'at once' },
  ],
  [
    'create (unique )?index concurrently (?<index>NAME) on TABLE',
    { lock: 'SHARE UPDATE EXCLUSIVE', work: 'builds an index' },
  ],
  [
    'create (unique )?index NAME on TABLE',
    { lock: 'SHARE', work: 'builds an index', instead: 'CREATE INDEX CONCURRENTLY' },
  ],
  [
    'comment on (table|column|constraint NAME on) TABLE',
    { lock: 'SHARE UPDATE EXCLUSIVE', work: 'at once' },
  ],
  ['comment on (function|index) ', { work: 'at once' }],
  ['create function ', { work: 'at once' }],
  [
    'create or replace function ',
    { work: 'at once', contract: 'code of the version before may rely on what it did' },
  ],
  [
    'create trigger .* on TABLE',
    { lock: 'SHARE ROW EXCLUSIVE', work: 'at once', contract: limits },
  ],
  ['insert into TABLE', { lock: 'ROW EXCLUSIVE', work: 'at once' }],
  ['(update|delete from) TABLE', { lock: 'ROW EXCLUSIVE', work: 'writes', contract: loses }],
  ['drop table TABLE', { ...alters, contract: loses }],
  ['drop trigger NAME on TABLE', { ...alters, contract: loses }],
  // Dropped again after a kill.
  [
    'drop index concurrently if exists ',
    { lock: 'SHARE UPDATE EXCLUSIVE', work: 'at once', contract: loses },
  ],
];

function findRow(
  rows: Row[],
  text: string,
): { effect: Effect; names: Record<string, string> } | null {
  for (const [form, effect] of rows) {
    const pattern = form
      .replaceAll('NAME', String.raw`\w+`)
      .replace('TABLE', String.raw`(?<table>\w+)`);
    const found = new RegExp(`^${pattern}`, 'i').exec(text);
    if (found) return { effect, names: { ...found.groups } };
  }
  return null;
}

const unknown: Effect = {
  ...alters,
  work: 'writes',
  contract: 'nobody has said what it does',
  instead: 'a statement of the table in steps.ts, or a line there',
};

/** The steps of a migration, in their order. */
export function stepsOf(migration: string): MigrationStep[] {
  const made = new Set<string>();
  const earlier: string[] = [];
  return splitSql(migration, ';').map((statement) => {
    const text = statement.replace(/\s+/g, ' ');
    const step = /^alter table /i.test(text) ? alterStep(text, earlier.join(';')) : plainStep(text);
    const [, table] = /^create (?:unlogged )?table (?:if not exists )?(\w+)/i.exec(text) ?? [];
    if (table !== undefined) made.add(table);
    earlier.push(text);
    const { tables, ...effect } = step;
    const old = tables.filter((name) => !made.has(name));
    const isFree = old.length === 0 && (tables.length > 0 || table !== undefined);
    return {
      statement,
      tables: old,
      isOutside: /^(create (unique )?|drop )index concurrently /i.test(text),
      ...(isFree ? { work: 'at once', ...(effect.index && { index: effect.index }) } : effect),
    };
  });
}

type Finding = Effect & { tables: string[]; index?: string };

function plainStep(text: string): Finding {
  const found = findRow(statements, text);
  if (!found) return { ...unknown, tables: [] };
  const { table, index } = found.names;
  // A foreign key of a new table locks the table that it refers to.
  const tables =
    table === undefined
      ? [...text.matchAll(/ references (\w+)/gi)].map(([, name]) => name!)
      : [table];
  return { ...found.effect, tables: [...new Set(tables)], ...(index && { index }) };
}

/** Several actions take the strongest lock of them. */
function alterStep(text: string, earlier: string): Finding {
  const [, table, rest] = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/i.exec(text) ?? [];
  if (table === undefined) return { ...unknown, tables: [] };
  const all = splitSql(rest!, ',').map((action): Effect => {
    const effect = findRow(actions, action)?.effect ?? unknown;
    const { lock, work } = effect;
    const [, dropped] = /^drop constraint (\w+)$/i.exec(action) ?? [];
    const isWidened =
      dropped !== undefined && new RegExp(`add constraint ${dropped} `, 'i').test(rest!);
    if (isWidened) return { lock, work };
    const [, column] = /^alter column (\w+) set not null$/i.exec(action) ?? [];
    const isKnown = new RegExp(
      String.raw`check \(${column} is not null\).*;.*validate constraint `,
      'i',
    );
    if (column !== undefined && isKnown.test(earlier))
      return { lock, work: 'at once', contract: limits } as const;
    return effect;
  });
  const most = <T>(order: readonly T[], values: T[]) =>
    order[Math.max(...values.map((each) => order.indexOf(each)))]!;
  const contract = all.find((each) => each.contract)?.contract;
  const instead = all.find((each) => each.instead)?.instead;
  return {
    lock: most(
      locks,
      all.map(({ lock }) => lock!),
    ),
    work: most(
      works,
      all.map(({ work }) => work),
    ),
    ...(contract && { contract }),
    ...(instead && { instead }),
    tables: [table],
  };
}

/** Bytes a second on two cores and an ordinary disk. */
const rates = { reads: 100e6, 'builds an index': 40e6, writes: 10e6 };

/** A guess of how long it takes, in seconds. */
export function secondsOf(work: Work, bytes: number): number {
  return work === 'at once' ? 0 : Math.round((bytes / rates[work]) * 10) / 10;
}
