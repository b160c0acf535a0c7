import { isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';

/** Words of a schema that Claude takes as they are; these rules are of Anthropic's own library. */
const plain = new Set('$ref type enum const required title description'.split(' '));
const ofMaps = new Set(['properties', '$defs', 'definitions']);
const ofLists: Readonly<Record<string, string>> = {
  anyOf: 'anyOf',
  oneOf: 'anyOf',
  allOf: 'allOf',
};
const formats = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
);

/**
 * Whether closing the objects of a schema would change what it takes: maps, objects of any fields,
 * and parts of one object.
 */
export function isOpenSchema(given: unknown): boolean {
  if (!isObject(given)) return false;
  const { type, properties, additionalProperties: more, allOf } = given;
  const hasFields = isObject(properties) && Object.keys(properties).length > 0;
  const isFree = [type].flat().includes('object') && !hasFields && more !== false;
  const isJoined = itemsOf(allOf).length > (hasFields ? 0 : 1);
  if (isFree || isJoined || isObject(more) || 'patternProperties' in given) return true;
  return Object.entries(given).some(([name, value]) => {
    if (name === 'items') return isOpenSchema(value);
    if (ofMaps.has(name)) return Object.values(objectOf(value)).some(isOpenSchema);
    return Object.hasOwn(ofLists, name) && itemsOf(value).some(isOpenSchema);
  });
}

/** A JSON schema as Claude takes it: its objects are closed, other words join the description. */
export function schemaForClaude(given: unknown): unknown {
  if (!isObject(given)) return given;
  const own: Json = {};
  const others: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const list = Object.hasOwn(ofLists, name) ? ofLists[name]! : '';
    const isTaken =
      plain.has(name) ||
      (name === 'format' && formats.has(String(value))) ||
      (name === 'minItems' && (value === 0 || value === 1));
    if (isTaken) own[name] = value;
    else if (name === 'items') own.items = schemaForClaude(value);
    else if (ofMaps.has(name) && isObject(value))
      own[name] = Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, schemaForClaude(each)]),
      );
    else if (Array.isArray(value) && list && !(list in own)) own[list] = value.map(schemaForClaude);
    else if (!/^(?:\$schema|additionalProperties)$/.test(name))
      others.push(`${name}: ${JSON.stringify(value)}`);
  }
  if ('properties' in own || [own.type].flat().includes('object')) own.additionalProperties = false;
  if (others.length > 0)
    own.description = [own.description ?? [], `{${others.join(', ')}}`].flat().join('\n\n');
  return own;
}
