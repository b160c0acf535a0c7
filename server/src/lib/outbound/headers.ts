/**
 * All values of one header, unchanged. Node's `headers` joins, drops or keeps repeated headers
 * depending on their name, and its `headersDistinct` is rebuilt from all headers at each access.
 * @param rawHeaders alternating names and values, as in `IncomingMessage.rawHeaders`
 * @param name in lower case
 */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i]!;
    if (given.length === name.length && given.toLowerCase() === name)
      values.push(rawHeaders[i + 1]!);
  }
  return values;
}

/** Longer names would make a header longer than clients read. */
const nameMax = 128;

/** Callers' names as items of a header's list, percent-encoded. Too long names are left out. */
export function namesInHeader(names: readonly string[]): string[] {
  return names
    .map((name) => encodeURIComponent(name.toWellFormed()))
    .filter((name) => name !== '' && name.length <= nameMax);
}
