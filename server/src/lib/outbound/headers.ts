/**
 * All values of one header, as they came. Node joins, drops or keeps repeats depending on the
 * header's name, and rebuilds its `headersDistinct` from all headers at each access.
 * @param rawHeaders alternating names and values, as `IncomingMessage.rawHeaders`
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
