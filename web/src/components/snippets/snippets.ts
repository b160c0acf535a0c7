import { isLong } from '../../exact-json.ts';
import { fieldOf, itemsOf } from '../../../../client/src/unknown.ts';

/** Code that makes one call of the API. It takes the key from FAREBOX_API_KEY. */

export interface SnippetCall {
  base_url: string;
  model_id: string;
  /** The model's input, or a chat call's body without its model. */
  input: Record<string, unknown>;
  kind: 'image' | 'video' | 'text';
}

export const snippetLanguages = ['curl', 'fare', 'javascript', 'python'] as const;
export type SnippetLanguage = (typeof snippetLanguages)[number];

export const snippetNames: Record<SnippetLanguage, string> = {
  curl: 'curl',
  fare: 'fare',
  javascript: 'JavaScript',
  python: 'Python',
};

/** The code in each language, by its name. */
export function snippetsOf(shown: SnippetCall): Record<string, string> {
  return Object.fromEntries(
    snippetLanguages.map((each) => [snippetNames[each], snippet(each, shown)]),
  );
}

export function snippet(language: SnippetLanguage, shown: SnippetCall): string {
  return { curl, fare, javascript, python }[language](shown);
}

/** The URL and body of the call over plain HTTP. */
export function plainCall({ base_url, model_id, input, kind }: SnippetCall): {
  url: string;
  body: object;
} {
  if (kind !== 'text') return { url: `${base_url}/queue/${model_id}`, body: input };
  return { url: `${base_url}/chat/completions`, body: { model: model_id, ...input } };
}

function curl(shown: SnippetCall): string {
  const { url, body } = plainCall(shown);
  return `curl ${url} \\
  -H "Authorization: Key $FAREBOX_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${shellWord(JSON.stringify(body, null, 2))}`;
}

/** With the command line of @farebox/client. */
function fare({ base_url, model_id, input, kind }: SnippetCall): string {
  const where = `export FAREBOX_BASE_URL=${base_url}\n`;
  if (kind !== 'text')
    return `${where}fare run ${model_id} --yes --input - <<'END'\n${JSON.stringify(input, null, 2)}\nEND`;
  const { messages, max_tokens } = input;
  const said = String(fieldOf(itemsOf(messages).at(-1), 'content'));
  const most = max_tokens === undefined ? '' : ` --max-tokens ${String(max_tokens)}`;
  return `${where}fare chat ${model_id} ${shellWord(said)}${most}`;
}

/** With @farebox/client, which reads the key from FAREBOX_API_KEY. */
function javascript({ base_url, model_id, input, kind }: SnippetCall): string {
  const head = `import { Farebox } from '@farebox/client';

const farebox = new Farebox({ baseUrl: ${JSON.stringify(base_url)} });`;
  if (kind === 'text') {
    return `${head}
const reply = await farebox.chat.create(${JSON.stringify({ model: model_id, ...input }, null, 2)});
console.log(reply.choices[0].message.content);`;
  }
  return `${head}
const { output } = await farebox.run(
  ${JSON.stringify(model_id)},
  ${JSON.stringify(input, null, 2).replaceAll('\n', '\n  ')},
);
console.log(output);`;
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function python(shown: SnippetCall): string {
  const { url, body } = plainCall(shown);
  const call = `import os
import requests

headers = {"Authorization": f"Key {os.environ['FAREBOX_API_KEY']}"}
body = ${literal(body)}

reply = requests.post(${JSON.stringify(url)}, headers=headers, json=body)
reply.raise_for_status()`;
  if (shown.kind === 'text')
    return `${call}\nprint(reply.json()["choices"][0]["message"]["content"])`;
  return `${call}
job = reply.json()

while True:
    look = requests.get(job["status_url"], params={"wait": 30}, headers=headers)
    if look.json()["status"] not in ("IN_QUEUE", "IN_PROGRESS"):
        break

print(requests.get(job["response_url"], headers=headers).json())`;
}

/** A value as a Python literal. */
function literal(value: unknown, indent = ''): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value !== 'object' || isLong(value)) return JSON.stringify(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((item) => `${inner}${literal(item, inner)},`)
    : Object.entries(value).map(
        ([name, item]) => `${inner}${JSON.stringify(name)}: ${literal(item, inner)},`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${indent}${close}`;
}
