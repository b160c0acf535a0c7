/** How many lines each room may have, so that the house grows only on purpose. */
import { isTest, type Project } from './project.ts';

/** Lines of code, comments included. If a room gets smaller, lower its budget. */
export const budgets: Record<string, number> = {
  bench: 3_200,
  'client/src': 9_100,
  'server/src': 2_000,
  'server/src/catalog': 800,
  'server/src/chains': 1_950,
  'server/src/commands': 3_500,
  'server/src/core': 15_500,
  'server/src/db': 9_500,
  'server/src/http': 20_500,
  'server/src/ledger': 2_300,
  'server/src/lib': 5_750,
  'server/src/operations': 6_850,
  'server/src/storage': 2_100,
  'server/src/upstreams': 10_850,
  'server/src/worker': 3_800,
  tests: 131_050,
  tools: 1_200,
  'web/src': 25_850,
};

/** Written by `npm run generate`, or mostly data. */
const uncounted = /^(client\/src\/types\.ts|web\/src\/api-types\.ts|server\/test\/wild\/.*)$/;

/** The room of a file that counts; tests of all workspaces are one. */
export function roomOf(file: string): string | undefined {
  if (!/\.tsx?$/.test(file) || uncounted.test(file)) return undefined;
  if (isTest(file)) return 'tests';
  const [, room] =
    /^(server\/src\/[\w-]+(?=\/)|(?:server|web|client)\/src|bench|tools)\//.exec(file) ?? [];
  return room;
}

export function linesByRoom(project: Project): Map<string, number> {
  const rooms = new Map<string, number>();
  for (const [file, text] of project) {
    const room = roomOf(file);
    if (room) rooms.set(room, (rooms.get(room) ?? 0) + text.split('\n').length - 1);
  }
  return rooms;
}

export function checkBudgets(project: Project, of: Record<string, number> = budgets): string[] {
  return [...linesByRoom(project)].flatMap(([room, lines]) => {
    const budget = of[room];
    if (budget === undefined) return [`${room} has ${lines} lines and no budget`];
    if (lines > budget)
      return [
        `${room} has ${lines} lines, ${lines - budget} above its budget: say a fact once, merge, ` +
          'cut; or raise its budget in server/test/layout/budget.ts and say what the lines bring',
      ];
    return [];
  });
}
