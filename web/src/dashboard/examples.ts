import { shellWord } from '../components/snippets/snippets.ts';

/** Code to copy with the base URL, key and model filled in. */

export interface Filled {
  base: string;
  key: string;
  model: string;
  input: Record<string, unknown>;
  chat: string | null;
}

type Languages = Record<'curl' | 'fare' | 'JavaScript' | 'Python', string>;
export type StepName = 'price' | 'submit' | 'wait' | 'result' | 'chat';

/** How to install the command and the library, which are one package. */
export function tools({ base }: Pick<Filled, 'base'>): Record<'fare' | 'JavaScript', string> {
  const file = 'farebox-client.tgz';
  return {
    fare: `npm install --global ${base}/${file}
fare login --base-url ${base}`,
    JavaScript: `curl -sO ${base}/${file}
npm install ./${file}`,
  };
}

export function examples({ base, key, model, input, chat }: Filled): Record<StepName, Languages> {
  const json = (value: unknown) => JSON.stringify(value);
  const curl = (path: string, body?: unknown, extra = '') =>
    body === undefined
      ? `curl -s '${base}${path}' \\\n  -H 'Authorization: Key ${key}'${extra}`
      : `curl -s ${base}${path} \\
  -H 'Authorization: Key ${key}' -H 'Content-Type: application/json'${extra} \\
  -d ${shellWord(json(body))}`;
  const js = (lines: string) => `import { Farebox } from '@farebox/client';

const farebox = new Farebox({ baseUrl: '${base}', apiKey: '${key}' });
${lines}`;
  const fare = (verb: string) => `fare ${verb} --input - <<'END'\n${json(input)}\nEND`;
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
  const once = (commands: string, mark: string) => commands.replaceAll(/^/gm, `${mark} once: `);
  const estimate = { model_id: model, input };
  const messages = [{ role: 'user', content: 'Say hello' }];
  const talk = { model: chat ?? 'MODEL', messages };
  const queue = `/queue/${model}`;
  const wait = '/requests/REQUEST_ID/status?wait=60&until=final';
  const response = '/requests/REQUEST_ID/response';
  return {
    price: {
      curl: curl('/estimate', estimate),
      fare: `${once(tools({ base }).fare, '#')}\n${fare(`price ${model}`)}`,
      JavaScript:
        `${once(tools({ base }).JavaScript, '//')}\n` +
        js(`const { price_usd_micro } = await farebox.estimate('${model}', ${json(input)});
console.log(price_usd_micro);`),
      Python: py('/estimate', estimate),
    },
    submit: {
      curl: curl(queue, input, " \\\n  -H 'Idempotency-Key: my-first-one'"),
      fare: fare(`run ${model} --yes --no-wait`),
      JavaScript: js(`const job = await farebox.submit('${model}', ${json(input)}, {
  idempotencyKey: 'my-first-one',
});
console.log(job.requestId);`),
      Python: py(queue, input, ', "Idempotency-Key": "my-first-one"'),
    },
    wait: {
      curl: curl(wait),
      fare: 'fare wait REQUEST_ID',
      JavaScript: js(
        `for await (const { status } of farebox.watch('REQUEST_ID')) console.log(status);`,
      ),
      Python: py(wait),
    },
    result: {
      curl: curl(response),
      fare: 'fare download REQUEST_ID',
      JavaScript: js(`console.log(await farebox.response('REQUEST_ID'));`),
      Python: py(response),
    },
    chat: {
      curl: curl('/chat/completions', talk),
      fare: `fare chat ${talk.model} 'Say hello'`,
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
