/** How many lines each room may have, so that the house grows only on purpose. */
import { isTest, type Project } from './project.ts';

/**
 * Lines of code, comments included. A new budget leaves about 1 % of room, at least 50 lines, so
 * that a small change fits. If a room gets smaller, lower its budget.
 */
export const budgets: Record<string, number> = {
  bench: 3_700,
  'client/src': 9_200,
  'server/src': 2_365,
  'server/src/catalog': 950,
  'server/src/chains': 2_000,
  'server/src/commands': 6_370,
  'server/src/core': 17_370,
  'server/src/db': 12_150,
  'server/src/http': 21_730,
  'server/src/ledger': 3_380,
  'server/src/lib': 6_860,
  'server/src/operations': 8_550,
  'server/src/storage': 2_490,
  'server/src/upstreams': 11_640,
  'server/src/worker': 4_230,
  tests: 149_900,
  tools: 1_250,
  'web/src': 34_400,
};

/**
 * All rooms of a workspace together, so that they do not creep up one by one; about 1 % above their
 * lines, too. The pages, the client and the tests are one room each.
 */
export const ceilings: Record<string, number> = { 'server/src': 99_680 };

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

/** Rooms and workspaces with so little left that a small change may not fit. */
export function tightIn(
  project: Project,
  of: Record<string, number> = budgets,
  together: Record<string, number> = ceilings,
): string[] {
  const rooms = linesByRoom(project);
  const each = [...rooms].map(([room, lines]) => [room, lines, of[room] ?? 0] as const);
  const all = Object.entries(together).map(
    ([workspace, most]) => [`${workspace}, all rooms`, linesOf(workspace, rooms), most] as const,
  );
  return [...each, ...all]
    .filter(([, lines, most]) => most - lines < Math.max(25, most / 500))
    .map(([name, lines, most]) => `${name}: ${most - lines} of ${most} lines left`);
}

/** Lines of all rooms whose path begins with this. */
export function linesOf(workspace: string, rooms: ReadonlyMap<string, number>): number {
  return [...rooms].reduce((all, [room, n]) => (room.startsWith(workspace) ? all + n : all), 0);
}

export function checkBudgets(project: Project, of: Record<string, number> = budgets): string[] {
  const rooms = linesByRoom(project);
  const high = Object.entries(ceilings).flatMap(([workspace, most]) => {
    const lines = linesOf(workspace, rooms);
    if (lines <= most) return [];
    return [`all rooms of ${workspace} have ${lines} lines, above their ceiling of ${most}`];
  });
  const large = [...rooms].flatMap(([room, lines]) => {
    const budget = of[room];
    if (budget === undefined) return [`${room} has ${lines} lines and no budget`];
    if (lines > budget)
      return [
        `${room} has ${lines} lines, ${lines - budget} above its budget: say a fact once, merge, ` +
          'cut; or raise its budget in server/test/layout/budget.ts and say what the lines bring',
      ];
    return [];
  });
  return [...large, ...high];
}
