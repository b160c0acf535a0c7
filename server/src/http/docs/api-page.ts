import { callOf } from '../openapi.ts';
import type { ApiRoute } from '../routes.ts';
import type { ApiProse } from './prose.ts';

const mark = '<!-- The rest is made by `npm run generate` from the pages. -->\n';

/** `docs/api.md` with a line for each call of callers below its mark. */
export function apiPage(page: string, table: ApiRoute[], { calls }: ApiProse): string {
  const [own] = page.split(mark);
  const lines = table.flatMap((route) => {
    const call = callOf(route);
    const about = calls.get(call);
    if (!about || route.who === 'operator') return [];
    const anchor = call
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-');
    return `| [\`${call}\`](api/${about.page}.md#${anchor}) | ${about.summary} |`;
  });
  return `${own}${mark}\n${['| call | about |', '|---|---|', ...lines].join('\n')}\n`;
}
