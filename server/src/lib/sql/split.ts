const tokens =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|[^'"$\-/();,]+|[\s\S]/g;

/** The statements of an SQL text, or the parts of one between its outer commas; no comments. */
export function splitSql(text: string, at: ';' | ','): string[] {
  const parts = [''];
  let depth = 0;
  for (const [token] of text.matchAll(tokens)) {
    if (/^(--|\/\*)/.test(token)) continue;
    if (token === '(') depth++;
    if (token === ')') depth--;
    if (token === at && depth === 0) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}
