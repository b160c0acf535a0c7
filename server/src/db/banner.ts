import { sql, type Connection } from '../lib/sql/sql.ts';

/** The operator's text above all pages. */
export interface Banner {
  en: string | null;
  ru: string | null;
  changed_at: Date;
}

/** Null: there is none. */
export async function find(db: Connection): Promise<Banner | null> {
  const [row] = await db.run<Banner>(sql`select en, ru, changed_at from banner`);
  return row ?? null;
}

/** Replaces the text; without any, removes it. */
export async function set(
  db: Connection,
  { en, ru }: Pick<Banner, 'en' | 'ru'>,
): Promise<Banner | null> {
  if (en === null && ru === null) {
    await db.run(sql`delete from banner`);
    return null;
  }
  const [row] = await db.run<Banner>(sql`
    insert into banner (en, ru) values (${en}, ${ru})
    on conflict (is_one) do update set en = excluded.en, ru = excluded.ru, changed_at = now()
    returning en, ru, changed_at`);
  return row!;
}
