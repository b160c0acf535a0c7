import { catalogDir } from '../config.ts';
import { Refused } from '../operations/account.ts';
import { isWell } from '../upstreams/look.ts';
import { lookFrom, readFolder, told, withUpstreams } from './live-look.ts';
import { print, type Context } from './output.ts';

/** Asks one upstream, or all that are set up, whether they are well; nothing that costs. */
export async function test(context: Context, name: string | undefined): Promise<void> {
  const { config } = context;
  const { looks, owners, dir } = await withUpstreams(config, async (opened) => {
    const dir = catalogDir(config);
    const folder = await readFolder(dir, opened);
    const names = [
      ...opened.knownUpstreams,
      ...folder.upstreams.map((each) => each.definition.name),
    ];
    if (name !== undefined && !names.includes(name))
      throw unknown(name, names, dir, folder.problems);
    const isSetUp = (each: string) => opened.usableUpstreams(each) === true;
    const wanted = name === undefined ? names.filter(isSetUp) : [name];
    const looks = await Promise.all(wanted.map((each) => lookFrom(each, folder, opened)));
    return { looks, owners: folder.owners, dir };
  });
  const ok = looks.every(isWell);
  const texts = looks.map((look) => told(look, (id) => owners.get(id) ?? dir));
  const none = 'No upstream is set up: "farebox upstream list" says what each needs.';
  print(context, { ok, data: looks }, texts.length === 0 ? none : texts.join('\n'));
  if (!ok) process.exitCode = 1;
}

function unknown(name: string, names: string[], dir: string, problems: unknown[]): Refused {
  // A file with a problem defines nothing.
  const hint = problems.length > 0 ? ' "farebox catalog check" finds problems there.' : '';
  return new Refused(
    `No catalog file in ${dir} defines the upstream "${name}"; ` +
      `there are ${names.join(', ')}.${hint}`,
  );
}
