import type { Model } from '../../core/catalog/catalog.ts';
import { isObject } from '../../lib/json.ts';

/** Programs that call one model with its example. Each reads the key from FAREBOX_API_KEY. */
export function programs(model: Model, baseUrl: string): Record<string, string> {
  return model.kind === 'text' ? chatPrograms(model, baseUrl) : queuePrograms(model, baseUrl);
}

export const auth = '-H "Authorization: Key $FAREBOX_API_KEY"';

function queuePrograms({ id, example }: Model, base: string): Record<string, string> {
  const url = `${base}/queue/${id}`;
  return {
    curl: `curl -s ${url} \\
  ${auth} -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: job-$(date +%s)" \\
  -d ${shellJson(example)} | tee submitted.json
REQUEST_ID=$(sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/' submitted.json)

# Wait for the end, then read the output.
curl -s "${base}/requests/$REQUEST_ID/status?wait=60&until=final" \\
  ${auth}
curl -s ${base}/requests/$REQUEST_ID/response \\
  ${auth}`,
    JavaScript: `// npm install ${base}/farebox-client.tgz
import { Farebox } from '@farebox/client';

const farebox = new Farebox({ baseUrl: '${base}' });
const input = ${JSON.stringify(example, null, 2)};
const { output } = await farebox.run('${id}', input);
console.log(output);`,
    Python: `# pip install requests
import os, uuid, requests

headers = {"Authorization": f"Key {os.environ['FAREBOX_API_KEY']}"}

def call(method, url, **options):
    reply = requests.request(method, url, **options)
    if not reply.ok:
        raise SystemExit(reply.text)
    return reply.json()

job = call("POST", "${url}",
           headers={**headers, "Idempotency-Key": str(uuid.uuid4())},
           json=${pythonValue(example)})
while job["status"] not in ("COMPLETED", "FAILED", "CANCELLED"):
    wait = {"wait": 60, "until": "final"}
    job = {**job, **call("GET", job["status_url"], headers=headers, params=wait)}
print(call("GET", job["response_url"], headers=headers))`,
    Go: goProgram(
      `	var job struct {
		Status      string
		StatusURL   string \`json:"status_url"\`
		ResponseURL string \`json:"response_url"\`
	}
	input := ${goText(example)}
	json.Unmarshal(call("POST", "${url}", input), &job)
	for job.Status == "IN_QUEUE" || job.Status == "IN_PROGRESS" {
		json.Unmarshal(call("GET", job.StatusURL+"?wait=60&until=final", ""), &job)
	}
	fmt.Println(string(call("GET", job.ResponseURL, "")))`,
      ['encoding/json'],
    ),
  };
}

function chatPrograms({ id, example }: Model, base: string): Record<string, string> {
  const url = `${base}/chat/completions`;
  const body = { model: id, ...example };
  return {
    curl: `curl -s ${url} \\
  ${auth} -H 'Content-Type: application/json' \\
  -d ${shellJson(body)}`,
    JavaScript: `// npm install openai
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${base}', apiKey: process.env.FAREBOX_API_KEY });
const reply = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(reply.choices[0].message.content, reply.usage);`,
    Python: `# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url="${base}", api_key=os.environ["FAREBOX_API_KEY"])
reply = client.chat.completions.create(**${pythonValue(body)})
print(reply.choices[0].message.content, reply.usage)`,
    Go: goProgram(`	input := ${goText(body)}
	fmt.Println(string(call("POST", "${url}", input)))`),
  };
}

function goProgram(main: string, imports: string[] = []): string {
  const names = [...imports, 'fmt', 'io', 'net/http', 'os', 'strings', 'time'];
  return `package main

import (
${names.map((name) => `	"${name}"`).join('\n')}
)

func main() {
${main}
}

func call(method, url, body string) []byte {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Key "+os.Getenv("FAREBOX_API_KEY"))
	req.Header.Set("Content-Type", "application/json")
	if method == "POST" {
		req.Header.Set("Idempotency-Key", fmt.Sprint("job-", time.Now().UnixNano()))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err != nil {
		panic(err)
	}
	if res.StatusCode >= 300 {
		panic(string(reply))
	}
	return reply
}`;
}

/** A raw string of Go, which cannot hold a backtick. */
function goText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``;
}

/** Quotes JSON as one word for a POSIX shell. */
export function shellJson(value: unknown): string {
  return `'${JSON.stringify(value).replaceAll("'", String.raw`'\''`)}'`;
}

/** A literal of Python, which writes strings and numbers as JSON does. */
function pythonValue(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each)}`,
  );
  return `{${fields.join(', ')}}`;
}
