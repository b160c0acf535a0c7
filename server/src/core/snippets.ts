/**
 * Programs that make one call of a model. Each reads the key from FAREBOX_API_KEY. Pure, and
 * without imports, because the pages in the browser load this file too.
 */

export interface SnippetCall {
  /** Ends in /v1. */
  base_url: string;
  model_id: string;
  kind: 'image' | 'video' | 'text';
  /** The model's input, or a chat's body without its model. */
  input: Record<string, unknown>;
}

export type SnippetLanguage = 'curl' | 'fare' | 'JavaScript' | 'Python' | 'Go';

export const keyHeader = '-H "Authorization: Key $FAREBOX_API_KEY"';

export function programs(call: SnippetCall): Record<SnippetLanguage, string> {
  return call.kind === 'text' ? chatPrograms(call) : queuePrograms(call);
}

/** Installs the command and the library, which the service itself hands out. */
export function installs(base_url: string): Record<'fare' | 'JavaScript', string> {
  const file = `${base_url}/farebox-client.tgz`;
  return { fare: `npm install --global ${file}`, JavaScript: `npm install ${file}` };
}

function queuePrograms(call: SnippetCall): Record<SnippetLanguage, string> {
  const { base_url, model_id, input } = call;
  const url = `${base_url}/queue/${model_id}`;
  const install = installs(base_url);
  return {
    curl: `curl -s ${url} \\
  ${keyHeader} -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: job-$(date +%s)" \\
  -d ${shellWord(pretty(input))} | tee submitted.json
REQUEST_ID=$(sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/' submitted.json)

# Wait for the end, then read the output.
curl -s "${base_url}/requests/$REQUEST_ID/status?wait=60&until=final" \\
  ${keyHeader}
curl -s ${base_url}/requests/$REQUEST_ID/response \\
  ${keyHeader}`,
    fare: `# ${install.fare}
export FAREBOX_BASE_URL=${base_url}
fare run ${model_id} --yes --input - <<'END'
${pretty(input)}
END`,
    JavaScript: `// ${install.JavaScript}
import { Farebox } from '@farebox/client';

const farebox = new Farebox({ baseUrl: '${base_url}' });
const input = ${pretty(input)};
const { output } = await farebox.run('${model_id}', input);
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
           json=${pythonValue(input)})
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
	input := ${goText(input)}
	json.Unmarshal(call("POST", "${url}", input), &job)
	for job.Status == "IN_QUEUE" || job.Status == "IN_PROGRESS" {
		json.Unmarshal(call("GET", job.StatusURL+"?wait=60&until=final", ""), &job)
	}
	fmt.Println(string(call("GET", job.ResponseURL, "")))`,
      ['encoding/json'],
    ),
  };
}

function chatPrograms({ base_url, model_id, input }: SnippetCall): Record<SnippetLanguage, string> {
  const url = `${base_url}/chat/completions`;
  const body = { model: model_id, ...input };
  return {
    curl: `curl -s ${url} \\
  ${keyHeader} -H 'Content-Type: application/json' \\
  -d ${shellWord(pretty(body))}`,
    fare: `# ${installs(base_url).fare}
export FAREBOX_BASE_URL=${base_url}
fare chat ${model_id} ${shellWord(lastText(input))}${mostTokens(input)}`,
    JavaScript: `// npm install openai
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${base_url}', apiKey: process.env.FAREBOX_API_KEY });
const reply = await client.chat.completions.create(${pretty(body)});
console.log(reply.choices[0].message.content, reply.usage);`,
    Python: `# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url="${base_url}", api_key=os.environ["FAREBOX_API_KEY"])
reply = client.chat.completions.create(**${pythonValue(body)})
print(reply.choices[0].message.content, reply.usage)`,
    Go: goProgram(`	input := ${goText(body)}
	fmt.Println(string(call("POST", "${url}", input)))`),
  };
}

/** The text of the last message, as the command takes it. */
function lastText({ messages }: SnippetCall['input']): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1)?.content : undefined;
  return typeof last === 'string' ? last : '…';
}

function mostTokens({ max_tokens }: SnippetCall['input']): string {
  return typeof max_tokens === 'number' ? ` --max-tokens ${max_tokens}` : '';
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

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Quotes a text as one word for a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A literal of Python, which writes strings and numbers as JSON does. */
function pythonValue(value: unknown, indent = ''): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  // An integer beyond 2^53 is an object that JSON writes as a number.
  if (typeof value !== 'object' || 'rawJSON' in value) return JSON.stringify(value);
  const inner = `${indent}    `;
  const isList = Array.isArray(value);
  const lines = Object.entries(value).map(
    ([name, each]) =>
      `${inner}${isList ? '' : `${JSON.stringify(name)}: `}${pythonValue(each, inner)},`,
  );
  const [open, close] = isList ? '[]' : '{}';
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${indent}${close}`;
}
