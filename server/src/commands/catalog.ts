import { catalogDir } from '../config.ts';
import { Refused } from '../operations/account.ts';
import { upstreamsOf } from '../parts.ts';
import { checkFolder } from '../storage/catalog.ts';
import { print, type Context } from './output.ts';

export async function check(context: Context, folder: string | undefined): Promise<void> {
  const dir = folder ?? catalogDir(context.config);
  const checked = checkFolder({ dir, ...upstreamsOf(context.config) });
  const { files, rows, problems, hidden } = await checked.catch((error: Error) => {
    throw new Refused(`Cannot read the folder ${dir}: ${error.message}`, { cause: error });
  });
  const ok = problems.length === 0;
  const lines = problems.map(({ file, path, message, ...where }) => {
    const at = 'line' in where && where.line ? `${file}:${where.line}` : file;
    return `${at} ${path}: ${message}`;
  });
  const left = hidden.map(({ id, reason }) => `hidden: ${id}: ${reason}`);
  const summary = `${files.length} files, ${rows.length} models, ${hidden.length} of them hidden, ${problems.length} problems.`;
  print(
    context,
    { ok, files, models: rows.length, problems, hidden },
    [...lines, ...left, summary].join('\n'),
  );
  if (!ok) process.exitCode = 1;
}
