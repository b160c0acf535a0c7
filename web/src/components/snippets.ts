/** Programs that make one call of the API, with a place for the key. */

export interface Shown {
  base_url: string;
  model_id: string;
  /** The model's input, or a chat call's body without its model. */
  input: Record<string, unknown>;
  kind: 'image' | 'video' | 'text';
}

export const snippetLanguages = ['curl', 'javascript', 'python'] as const;
export type SnippetLanguage = (typeof snippetLanguages)[number];

export function snippet(language: SnippetLanguage, shown: Shown): string {
  const { base_url, model_id, input, kind } = shown;
  const isChat = kind === 'text';
  const url = isChat ? `${base_url}/chat/completions` : `${base_url}/queue/${model_id}`;
  const body = isChat ? { model: model_id, ...input } : input;
  return { curl, javascript, python }[language](url, body, isChat);
}

function curl(url: string, body: object): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return `curl ${url} \\
  -H "Authorization: Key $FAREBOX_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}

function javascript(url: string, body: object, isChat: boolean): string {
  const call = `const headers = {
  Authorization: \`Key \${process.env.FAREBOX_KEY}\`,
  'Content-Type': 'application/json',
};
const body = ${JSON.stringify(body, null, 2)};

const reply = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers,
  body: JSON.stringify(body),
});
if (!reply.ok) throw new Error(await reply.text());`;
  if (isChat) {
    return `${call}
const { choices } = await reply.json();
console.log(choices[0].message.content);`;
  }
  return `${call}
const { status_url, response_url } = await reply.json();

let status;
do {
  const look = await fetch(\`\${status_url}?wait=30\`, { headers });
  ({ status } = await look.json());
} while (status === 'IN_QUEUE' || status === 'IN_PROGRESS');

const response = await fetch(response_url, { headers });
console.log(await response.json());`;
}

function python(url: string, body: object, isChat: boolean): string {
  const call = `import os
import requests

headers = {"Authorization": f"Key {os.environ['FAREBOX_KEY']}"}
body = ${literal(body)}

reply = requests.post(${JSON.stringify(url)}, headers=headers, json=body)
reply.raise_for_status()`;
  if (isChat) return `${call}\nprint(reply.json()["choices"][0]["message"]["content"])`;
  return `${call}
job = reply.json()

while True:
    look = requests.get(job["status_url"], params={"wait": 30}, headers=headers)
    if look.json()["status"] not in ("IN_QUEUE", "IN_PROGRESS"):
        break

print(requests.get(job["response_url"], headers=headers).json())`;
}

/** As Python writes it. */
function literal(value: unknown, indent = ''): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((item) => `${inner}${literal(item, inner)},`)
    : Object.entries(value).map(
        ([name, item]) => `${inner}${JSON.stringify(name)}: ${literal(item, inner)},`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${indent}${close}`;
}
