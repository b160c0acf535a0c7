/** Checks the names of types and constants. */
import { place } from './imports.ts';
import { isTest, sources, type Project } from './project.ts';

const typeForm =
  /^[ \t]*(?<exported>export\s+)?(?:declare\s+)?(?:abstract\s+)?(?:type|interface|class)\s+(?<name>[A-Z]\w*)/gm;
const constantForm =
  /^[ \t]*(?:export\s+)?const\s+(?<name>[A-Z][A-Z0-9]*_[A-Z0-9_]*|[A-Z]{2,})\b/gm;

/** Nouns in spite of their endings; `Cancelled` is a schema of the public contract. */
const nouns = new Set(
  `Booking Cancelled Ceiling Encoding Finding Framing Heading Holding Listing Need Reading Setting
  Sighting Speed Warning`.split(/\s+/),
);
const irregular = new Set(
  `Begun Broken Chosen Drawn Found Given Gone Got Heard Held Kept Known Left Lost Made Meant Paid Ran
  Read Said Seen Sent Shown Sold Spelt Spent Taken Told Understood Written`.split(/\s+/),
);

export function checkTypeNames(project: Project): string[] {
  return typesOf(project, /^(server|client|web|tools|bench|examples)\//).flatMap(({ at, name }) => {
    return isParticiple(name) ? [`${at} calls a type ${name}`] : [];
  });
}

function isParticiple(name: string): boolean {
  return (/^[A-Z][a-z]+(ed|ing)$/.test(name) && !nouns.has(name)) || irregular.has(name);
}

export function checkHomonyms(project: Project): string[] {
  const first = new Map<string, string>();
  return typesOf(project, /^server\/src\//).flatMap(({ at, name, isExported }) => {
    if (!isExported) return [];
    const other = first.get(name);
    if (other === undefined) first.set(name, at);
    return other === undefined ? [] : [`${at} and ${other} both export a type ${name}`];
  });
}

const functionForm = /^export (?:async )?function\*? (?<name>\w+)/gm;

/** Modules of `db/` are read with their own name before that of a function: `keys.find`. */
export function checkFunctionHomonyms(project: Project): string[] {
  const first = new Map<string, string>();
  return sources(project, /^server\/src\/(?!db\/)/)
    .filter(({ path }) => !isTest(path))
    .flatMap((source) =>
      [...source.code.matchAll(functionForm)].flatMap(({ index, groups }) => {
        const { name } = groups!;
        const folder = source.path.slice(0, source.path.lastIndexOf('/'));
        const at = place(source, index);
        const other = first.get(`${folder} ${name}`);
        if (other === undefined) first.set(`${folder} ${name}`, at);
        return other === undefined ? [] : [`${at} and ${other} both export a function ${name}`];
      }),
    );
}

/** `read` is also a verb; `named` and `anything` are words of the schemas. */
export function checkFunctionNames(project: Project): string[] {
  return sources(project, /^server\/src\/(?!core\/apis\/|upstreams\/)/)
    .filter(({ path }) => !isTest(path))
    .flatMap((source) =>
      [...source.code.matchAll(functionForm)]
        .filter(({ groups }) => !['read', 'named', 'anything'].includes(groups!.name!))
        .filter(({ groups }) => isParticiple(groups!.name!.replace(/^./, (a) => a.toUpperCase())))
        .map(({ index, groups }) => `${place(source, index)} calls a function ${groups!.name}`),
    );
}

function typesOf(project: Project, where: RegExp) {
  return sources(project, where).flatMap((source) =>
    [...source.code.matchAll(typeForm)].map((match) => ({
      at: place(source, match.index + match[0].search(/\S/)),
      name: match.groups!.name!,
      isExported: match.groups!.exported !== undefined,
    })),
  );
}

export function checkConstants(project: Project): string[] {
  return sources(project, /^(server|client|web|tools|bench|bin)\//)
    .filter(({ path }) => !isTest(path))
    .flatMap((source) =>
      [...source.code.matchAll(constantForm)].map(
        (match) => `${place(source, match.index)} shouts ${match.groups!.name}`,
      ),
    );
}

export function checkSchemaWords(project: Project): string[] {
  return sources(project, /^server\/src\//).flatMap((source) =>
    source.imports
      .filter(
        ({ target, kind }) => kind === 'value' && target === 'server/src/http/schemas/schema.ts',
      )
      .filter(({ start }) => !source.code.startsWith('import * as s from', start))
      .map(({ start }) => `${place(source, start)} takes single words of schemas`),
  );
}
