import type { FailureDetails } from '../../core/errors.ts';
import { lineOutputsMax, type LineOutput } from '../../core/request/line.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { inputSummary, type InputSummary } from './call-numbers.ts';
import { ofFailed, type RequestRow } from './requests.ts';

/** Lines of lists: the columns beside a request's own, read with the page in one statement. */

export const lineColumns = columns('r', {
  asked: inputSummary('r.id'),
  /** Whether people of its account marked it in their library. */
  favorite: of<boolean>(`exists (select from favorites f
    where f.account_id = r.account_id and f.request_id = r.id)`),
  error_message: of<string | null>(ofFailed('error_message')),
  error_details: of<FailureDetails | null>(ofFailed('error_details')),
  /** The number of outputs that it made, whether they are still kept or not. */
  output_count: of<number>(`case when r.status = 'COMPLETED' and r.kind <> 'text' then (
    select count(*)::int from outputs o where o.request_id = r.id) else 0 end`),
  /** The first of them; null: none is kept. */
  kept: of<LineOutput[] | null>(`case when r.expires_at > now() then (
    select json_agg(o order by o.index) from (
      select index, field, content_type, size, width, height, duration_seconds, file_name
      from outputs where request_id = r.id order by index limit ${lineOutputsMax}) o) end`),
});
export type LineRow = RequestRow & Omit<RowOf<typeof lineColumns>, 'asked'> & InputSummary;
