/**
 * All values of one header, as they came. Node joins, drops or keeps repeats by the header's name,
 * and its view of distinct ones is made anew of all headers at each look.
 * @param rawHeaders names and values in turn, as `IncomingMessage.rawHeaders`
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
