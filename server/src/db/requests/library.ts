import { sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';

/** The library: jobs of an account, found by their prompts or as its favorites. */

export interface LibrarySearch {
  /** All of them are in the prompt; the case of letters does not matter. */
  words: readonly string[];
  favorites: boolean;
}

interface Candidates extends LibrarySearch {
  account_id: string;
  /** The condition on a request's id, by the SQL of the id. */
  bounds: (id: string) => Fragment;
  sort: 'asc' | 'desc';
  most: number;
}

/** Jobs with their prompts, in order, whether they match the words or not. */
export function libraryJobs({ account_id, favorites, bounds, sort, most }: Candidates): Fragment {
  return (bind) => {
    const where = `account_id = ${bind(account_id)}::uuid and ${bounds('request_id')(bind)}`;
    const end = `order by request_id ${sort} limit ${bind(most)}::int`;
    if (!favorites)
      return `select request_id as id, prompt from request_inputs
        where ${where} and prompt is not null ${end}`;
    return `select request_id as id, (select i.prompt from request_inputs i
        where i.request_id = f.request_id) as prompt from favorites f where ${where} ${end}`;
  };
}

/** The condition that `prompt` has all these words. */
export function hasWords(prompt: string, words: readonly string[]): Fragment {
  const patterns = words.map((word) => `%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
  return (bind) => `${prompt} ilike all (${bind(patterns)}::text[])`;
}

/** Marks a request. False if the account has `most` favorites already. */
export async function addFavorite(
  db: Connection,
  { account_id, request_id }: { account_id: string; request_id: string },
  most: number,
): Promise<boolean> {
  const [row] = await db.run<{ added: boolean }>(sql`
    with room as (
      select count(*) < ${most} as left from (
        select from favorites where account_id = ${account_id} and request_id <> ${request_id}
        limit ${most}) f
    ), added as (
      insert into favorites (account_id, request_id)
      select ${account_id}::uuid, ${request_id}::uuid from room where room.left
      on conflict do nothing
    )
    select room.left as added from room`);
  return row?.added ?? false;
}

export async function removeFavorite(
  db: Connection,
  { account_id, request_id }: { account_id: string; request_id: string },
): Promise<void> {
  await db.run(sql`
    delete from favorites where account_id = ${account_id} and request_id = ${request_id}`);
}
