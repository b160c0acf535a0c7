import type { ClientBase } from 'pg';
import { canonicalEmail } from '../../core/account/email.ts';

const nouns = { accounts: 'Account', people: 'Person' };

/**
 * Sets the form of addresses that earlier versions have stored otherwise. An address that has no
 * form, or whose form another row has, stays as it is and is named in the result.
 */
export async function setEmailForms(session: Pick<ClientBase, 'query'>): Promise<string[]> {
  const notes: string[] = [];
  for (const [table, noun] of Object.entries(nouns)) {
    // An address of plain characters already is its form.
    const { rows } = await session.query<{ id: string; email: string }>(
      `select id, email from ${table} where email ~ '[^\\x01-\\x7f]' order by id`,
    );
    for (const { id, email } of rows) {
      const form = canonicalEmail(email);
      if (form === email) continue;
      const { rowCount } = await session.query(
        `update ${table} set email_form = $2::text where id = $1 and $2::text is not null
           and not exists (select from ${table} where email = $2::text or email_form = $2::text)`,
        [id, form],
      );
      if (rowCount !== 0) continue;
      const why = form === null ? 'is not usable' : `is the same address as ${form}`;
      notes.push(
        `${noun} ${id}: ${escapeOddSigns(email)} ${why}. It still signs in as it is stored.`,
      );
    }
  }
  return notes;
}

/** Shows characters that look like others, or like nothing. */
function escapeOddSigns(email: string): string {
  return email.replace(/[^ -~]/gu, (sign) => `\\u{${sign.codePointAt(0)!.toString(16)}}`);
}
