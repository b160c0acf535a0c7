import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { formatUsd } from '../../index.ts';
import { openProgress, type Desk } from './calls.ts';
import { sessionSchema } from './models.ts';
import { answer, ToolError } from './replies.ts';

export function addAccountTools(desk: Desk): void {
  addBalance(desk);
  addUpload(desk);
}

function addBalance({ server, client, budget }: Desk): void {
  server.registerTool(
    'get_balance',
    {
      title: 'Get the balance',
      description:
        "The amounts that the account, its key and this server's session may still spend, in USD.",
      outputSchema: {
        available_usd: z.string(),
        reserved_usd: z.string().describe('Reserved by requests that have not ended yet.'),
        key: z
          .looseObject({})
          .describe(
            "The key's limit and its spending this month; limit_usd is null if it has no limit.",
          ),
        session: sessionSchema,
        top_up: z
          .array(z.looseObject({}))
          .describe('Where the user can send money: token, chain, address and minimum.'),
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ signal }) =>
      answer(async () => {
        const found = await client.balance({ signal });
        const { available_usd_micro, reserved_usd_micro, key, top_up } = found;
        await budget.settleEnded(client);
        const fields = {
          available_usd: formatUsd(available_usd_micro),
          reserved_usd: formatUsd(reserved_usd_micro),
          key: {
            limit_usd: key.limit_usd_micro === null ? null : formatUsd(key.limit_usd_micro),
            spent_usd: formatUsd(key.spent_usd_micro),
            resets_at: key.resets_at,
          },
          session: budget.view(),
          top_up,
        };
        return { fields };
      }),
  );
}

function addUpload(desk: Desk): void {
  desk.server.registerTool(
    'upload_file',
    {
      title: 'Upload a file',
      description:
        'Uploads a local image, video, audio, PDF or text file and returns its file_id, which goes ' +
        'into any URL field of an input, such as image_url. Free; kept until expires_at, by default 7 days.',
      inputSchema: {
        path: z.string().min(1).describe('The path of a file in a folder that the user allowed.'),
      },
      outputSchema: z.looseObject({
        file_id: z.string(),
        content_type: z.string(),
        size: z.int(),
        expires_at: z.string(),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    ({ path: named }, call) =>
      answer(async () => {
        const file = await allowedFile(named, await rootsOf(desk));
        const { tell, end } = openProgress(call);
        try {
          const uploaded = await desk.client.upload(file, {
            signal: call.signal,
            onProgress: ({ sent, total }) =>
              tell(`${sent} bytes sent`, total === null ? 0 : sent / total),
          });
          return { fields: { ...uploaded } };
        } finally {
          end();
        }
      }),
  );
}

/** The folders that the user allowed; if there are none, the folders that the agent works in. */
async function rootsOf({ roots, server }: Desk): Promise<string[]> {
  if (roots.length > 0 || !server.server.getClientCapabilities()?.roots) return roots;
  const named = await server.server.listRoots();
  return named.roots.flatMap(({ uri }) => (uri.startsWith('file://') ? [fileURLToPath(uri)] : []));
}

/**
 * The file at a path. Throws unless the user allowed its folder. Symbolic links are resolved first,
 * so that they cannot lead out of the folder.
 */
async function allowedFile(named: string, roots: string[]): Promise<string> {
  if (roots.length === 0) {
    throw new ToolError(
      'not_allowed',
      'This server may not read files from any folder. The user can allow one: --root FOLDER.',
    );
  }
  const places = await Promise.all(roots.map((root) => realpath(root).catch(() => null)));
  for (const place of places) {
    if (place === null) continue;
    const file = await realpath(path.resolve(place, named)).catch(() => null);
    if (file !== null && isWithin(place, file) && (await stat(file)).isFile()) return file;
  }
  // Missing and forbidden files get the same answer, so that it reveals nothing about the disk.
  throw new ToolError(
    'not_allowed',
    `There is no such file in ${roots.join(', ')}, or its name begins with a dot.`,
  );
}

/**
 * Names that begin with a dot hold settings and keys, so they are refused even in an allowed
 * folder.
 */
function isWithin(place: string, file: string): boolean {
  const way = path.relative(place, file);
  return !path.isAbsolute(way) && !way.split(path.sep).some((part) => part.startsWith('.'));
}
