import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { manPage, referencePage } from '../../../client/src/cli/help/pages.ts';
import { configurationPage } from './configuration-page.ts';
import { clientTypes } from '../http/docs/types/client-types.ts';
import { webTypes } from '../http/docs/types/web-types.ts';
import { apiPage } from '../http/docs/api-page.ts';
import { readProse } from '../http/docs/prose.ts';
import { errorsPage } from '../http/docs/errors-page.ts';
import { namedSchemas, openapiDocument } from '../http/openapi.ts';
import { routes } from '../http/routes.ts';
import { webRoutes } from '../http/session/routes.ts';

const root = new URL('../../../', import.meta.url);

/** Every committed file that is generated from the code: path in the repository → text. */
export function generatedFiles(): Map<string, string> {
  // The client makes no calls for the operator.
  const ofApi = namedSchemas(routes.filter(({ who }) => who !== 'operator'));
  const prose = readProse();
  const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
  return new Map([
    ['openapi.json', `${JSON.stringify(openapiDocument(routes, prose), null, 2)}\n`],
    ['client/src/types.ts', clientTypes(ofApi)],
    ['web/src/api-types.ts', webTypes(webRoutes, ofApi)],
    ['client/man/fare.1', manPage()],
    // The parts above their marks are written by hand.
    ['docs/fare.md', referencePage(read('docs/fare.md'))],
    ['docs/api.md', apiPage(read('docs/api.md'), routes, prose)],
    ['docs/errors.md', errorsPage(routes)],
    ['docs/configuration.md', configurationPage()],
  ]);
}

/** Writes the generated files. */
export async function generate(): Promise<void> {
  await Promise.all(
    [...generatedFiles()].map(([path, text]) => writeFile(new URL(path, root), text)),
  );
}
