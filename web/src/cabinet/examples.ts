/** Code that works as it stands, with the address, the key and the model filled in. */

export interface Filled {
  base: string;
  key: string;
  model: string;
  input: Record<string, unknown>;
  chat: string | null;
}

type Languages = Record<'curl' | 'JavaScript' | 'Python', string>;
export type StepName = 'price' | 'submit' | 'wait' | 'result' | 'chat';

export function examples({ base, key, model, input, chat }: Filled): Record<StepName, Languages> {
  const json = (value: unknown) => JSON.stringify(value);
  const shell = (value: unknown) => json(value).replaceAll("'", String.raw`'\''`);
  const curl = (path: string, body?: unknown, extra = '') =>
    body === undefined
      ? `curl -s '${base}${path}' \\\n  -H 'Authorization: Key ${key}'${extra}`
      : `curl -s ${base}${path} \\
  -H 'Authorization: Key ${key}' -H 'Content-Type: application/json'${extra} \\
  -d '${shell(body)}'`;
  const js = (path: string, body?: unknown, headers = '') =>
    body === undefined
      ? `const reply = await fetch('${base}${path}', {\n  headers: { Authorization: 'Key ${key}' },\n});\nconsole.log(await reply.json());`
      : `const reply = await fetch('${base}${path}', {
  method: 'POST',
  headers: { Authorization: 'Key ${key}', 'Content-Type': 'application/json'${headers} },
  body: JSON.stringify(${json(body)}),
});
console.log(await reply.json());`;
  const py = (path: string, body?: unknown, headers = '') =>
    body === undefined
      ? `import requests

print(requests.get("${base}${path}", headers={"Authorization": "Key ${key}"}).json())`
      : `import json, requests

print(requests.post(
    "${base}${path}",
    headers={"Authorization": "Key ${key}"${headers}},
    json=json.loads(${json(json(body))}),
).json())`;
  const estimate = { model_id: model, input };
  const messages = [{ role: 'user', content: 'Say hello' }];
  const talk = { model: chat ?? 'MODEL', messages };
  const queue = `/queue/${model}`;
  const wait = '/requests/REQUEST_ID/status?wait=60';
  const response = '/requests/REQUEST_ID/response';
  return {
    price: {
      curl: curl('/estimate', estimate),
      JavaScript: js('/estimate', estimate),
      Python: py('/estimate', estimate),
    },
    submit: {
      curl: curl(queue, input, " \\\n  -H 'Idempotency-Key: my-first-one'"),
      JavaScript: js(queue, input, ", 'Idempotency-Key': 'my-first-one'"),
      Python: py(queue, input, ', "Idempotency-Key": "my-first-one"'),
    },
    wait: {
      curl: curl(wait),
      JavaScript: js(wait),
      Python: py(wait),
    },
    result: { curl: curl(response), JavaScript: js(response), Python: py(response) },
    chat: {
      curl: curl('/chat/completions', talk),
      JavaScript: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${base}', apiKey: '${key}' });
const reply = await client.chat.completions.create(${json(talk)});
console.log(reply.choices[0].message.content, reply.usage);`,
      Python: `from openai import OpenAI

client = OpenAI(base_url="${base}", api_key="${key}")
reply = client.chat.completions.create(model=${json(talk.model)}, messages=[{"role": "user", "content": "Say hello"}])
print(reply.choices[0].message.content, reply.usage)`,
    },
  };
}
