// Puts the modules that pages share into few files. Left alone, the bundler makes a file for each set
// of pages that share something: a page then loads a hundred files, and most of them are tiny.
import { frame, pages } from './weight.mjs';

/** A page loads at most this many files of scripts, beside its own, its frame and the main one. */
const filesMax = 12;
/** So many times does a needless byte count for strangers, and in the studio, whose pages load most. */
const weights = { 'src/entry/': 5, 'src/studio/': 5 };

/**
 * The file for each shared module, by the module's id. `chunks` are those of a build that was left
 * alone. As long as a page has too many, groups of modules are merged, first those that cost the
 * fewest needless bytes for each file that such a page has less.
 */
export function sharedFiles(chunks) {
  const groups = groupsOf(chunks);
  const loads = loadsOf(groups);
  const shared = () => [...groups].filter(({ isShared, pages: by }) => isShared && by.size > 0);
  const alike = Map.groupBy(shared(), ({ pages: by }) => loads.map((load) => by.has(load)).join());
  for (const same of alike.values()) {
    const merged = [];
    for (const group of same) {
      const first = merged.find((each) => !isSplit([each, group], groups));
      if (first) merge(groups, [first, group]);
      else merged.push(group);
    }
  }
  for (;;) {
    const all = shared();
    const isOver = (load) => all.filter(({ pages: by }) => by.has(load)).length > filesMax;
    const over = loads.filter(isOver);
    if (over.length === 0) break;
    const parts = cheapest(all, over, groups);
    if (parts === undefined) break;
    merge(groups, parts);
  }
  return new Map(shared().flatMap(({ modules }, i) => modules.map((id) => [id, `part-${i}`])));
}

/** Each chunk as a group of modules, with the groups that it imports. */
function groupsOf(chunks) {
  const groups = chunks.map(({ modules, code, isEntry, isDynamicEntry, facadeModuleId }) => ({
    // A page's own file stays what it is.
    isShared: !isEntry && !isDynamicEntry,
    isMain: isEntry,
    page: facadeModuleId,
    modules: Object.keys(modules),
    bytes: code.length,
    pages: new Set(),
  }));
  const byName = new Map(chunks.map(({ fileName }, i) => [fileName, groups[i]]));
  for (const [i, { imports }] of chunks.entries())
    groups[i].imports = new Set(imports.map((name) => byName.get(name)));
  return new Set(groups);
}

/** Notes in each group the pages that load it. */
function loadsOf(groups) {
  const all = [...groups];
  const groupOf = (file) => all.find(({ page }) => page?.endsWith(file));
  return pages().map((page) => {
    const isEntry = page.startsWith('src/entry/');
    const [, weight = 1] = Object.entries(weights).find(([room]) => page.startsWith(room)) ?? [];
    const load = { page, weight };
    const first = [groupOf(page), ...(isEntry ? [] : [groupOf(frame)])];
    for (const group of below([all.find(({ isMain }) => isMain), ...first])) group.pages.add(load);
    return load;
  });
}

/** The groups whose merging costs least for each file that a page of `over` has less. */
function cheapest(groups, over, everything) {
  const under = underOf(everything);
  const isBetween = (group, a, b) => under.get(a).has(group) && under.get(group).has(b);
  let best = { cost: Infinity };
  for (const [i, a] of groups.entries())
    for (const b of groups.slice(i + 1)) {
      // A group between the two comes along, or it and the merged one would import each other.
      const parts = groups.filter(
        (group) => group === a || group === b || isBetween(group, a, b) || isBetween(group, b, a),
      );
      const fewer = over.reduce((sum, load) => sum + Math.max(0, countOf(parts, load) - 1), 0);
      const cost = needless(parts, under) / fewer;
      if (cost < best.cost && !isSplit(parts, everything, under)) best = { cost, parts };
    }
  return best.parts;
}

/** All that each group imports, by others too. */
function underOf(groups) {
  return new Map([...groups].map((group) => [group, below(group.imports)]));
}

/**
 * Whether a file that stays as it is stands between these groups. If they were one, they and it would
 * import each other, and the first to run would miss the other.
 */
function isSplit(parts, groups, under = underOf(groups)) {
  return [...groups].some(
    (group) =>
      !group.isShared &&
      parts.some((part) => under.get(part).has(group)) &&
      parts.some((part) => under.get(group).has(part)),
  );
}

function countOf(groups, load) {
  return groups.filter(({ pages: by }) => by.has(load)).length;
}

/** The bytes that pages would load for nothing if these groups were one, with what they import. */
function needless(parts, under) {
  const loads = unionOf(parts.map(({ pages: by }) => by));
  let sum = 0;
  for (const { pages: by, bytes } of unionOf([new Set(parts), ...parts.map((a) => under.get(a))]))
    for (const load of loads.difference(by)) sum += bytes * load.weight;
  return sum;
}

function merge(groups, [first, ...others]) {
  for (const other of others) {
    groups.delete(other);
    first.modules.push(...other.modules);
    first.bytes += other.bytes;
    first.pages = first.pages.union(other.pages);
    first.imports = first.imports.union(other.imports);
  }
  for (const { imports } of groups)
    for (const other of others) if (imports.delete(other)) imports.add(first);
  for (const part of [first, ...others]) first.imports.delete(part);
  for (const group of below(first.imports)) group.pages = group.pages.union(first.pages);
}

/** These groups, with all that they import. */
function below(groups, found = new Set()) {
  for (const group of groups) {
    if (found.has(group)) continue;
    found.add(group);
    below(group.imports, found);
  }
  return found;
}

function unionOf(sets) {
  return sets.reduce((all, set) => all.union(set), new Set());
}
