import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { manPage, referencePage } from '../../../client/src/cli/help/pages.ts';
import { configurationPage } from '../config.ts';
import { clientTypes } from '../http/docs/types/client-types.ts';
import { webTypes } from '../http/docs/types/web-types.ts';
import { errorsPage } from '../http/docs/errors-page.ts';
import { namedSchemas, openapiDocument } from '../http/openapi.ts';
import { routes } from '../http/routes.ts';
import { webRoutes } from '../http/session/routes.ts';

const root = new URL('../../../', import.meta.url);

/** Every committed file that is generated from the code: path in the repository → text. */
export function generatedFiles(): Map<string, string> {
  // The client makes no calls for the operator.
  const ofApi = namedSchemas(routes.filter(({ who }) => who !== 'operator'));
  return new Map([
    ['openapi.json', `${JSON.stringify(openapiDocument(routes), null, 2)}\n`],
    ['client/src/types.ts', clientTypes(ofApi)],
    ['web/src/api-types.ts', webTypes(webRoutes, ofApi)],
    ['client/man/fare.1', manPage()],
    // The part above its mark is written by hand.
    ['docs/fare.md', referencePage(readFileSync(new URL('docs/fare.md', root), 'utf8'))],
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
