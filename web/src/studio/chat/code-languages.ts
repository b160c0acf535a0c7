/** Names of languages whose code is coloured, as replies write them. */
const names = new Set(
  (
    'arduino bash c c++ cc cjs console cpp cs csharp css cts diff go golang gql graphql h hpp html ' +
    'ini java javascript js json json5 jsonc jsx kotlin kt less lua make makefile markdown md mjs ' +
    'mts objectivec patch perl php py python r rb rs ruby rust scss sh shell sql svg swift toml ts ' +
    'tsx typescript vbnet wasm xml yaml yml zsh'
  ).split(' '),
);
/** In characters. Longer code, and code with longer lines, has no colours: they take too long. */
const codeMax = 10_000;
const lineMax = 500;

/** The language of a code block by the line after its fence; null if it stays without colours. */
export function languageOf(line: string, code: string): string | null {
  const name = /^[\w+#-]*/.exec(line.trim())![0].toLowerCase();
  const isShort = code.length <= codeMax && code.split('\n').every((one) => one.length <= lineMax);
  return names.has(name) && isShort ? name : null;
}
