/** A person at a browser that speaks WebDriver: opens addresses, types, presses, looks. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../../server/test/kit/until.ts';
import type { Send } from './marionette.ts';

/** Elements are named by CSS; each act waits for its element. */
export interface Hand {
  open(url: string): Promise<void>;
  type(css: string, text: string): Promise<void>;
  press(css: string): Promise<void>;
  see(css: string): Promise<void>;
  /** The value of a script's `return`. */
  ask(script: string): Promise<unknown>;
  /** Forgets who has signed in. */
  forget(): Promise<void>;
  /** Saves a picture of the window if WEB_PICTURES names a folder. */
  picture(name: string): Promise<void>;
}

/** Far longer than any step takes, because other processes may keep the cores busy. */
const stepMaxMs = 60_000;
/** The name of an element's id, which the standard fixes. */
const elementName = 'element-6066-11e4-a52e-4f735466cecf';

export function handOf(send: Send): Hand {
  const find = (css: string): Promise<string> =>
    until(
      `there is ${css}`,
      async () => {
        const query = { using: 'css selector', value: css };
        const found = await send('WebDriver:FindElement', query).catch(() => null);
        const id = idOf(found);
        if (id === undefined) return false;
        const shown = await send('WebDriver:IsElementDisplayed', { id }).catch(() => false);
        return valueOf(shown) === true && id;
      },
      stepMaxMs,
    );
  /** Again and again, because an element may be replaced or covered meanwhile. */
  const act = (css: string, command: string, parameters: object) =>
    until(
      `${command} on ${css}`,
      async () => {
        const id = await find(css);
        return send(command, { id, ...parameters }).then(
          () => true,
          () => false,
        );
      },
      stepMaxMs,
    );
  return {
    open: async (url) => void (await send('WebDriver:Navigate', { url })),
    type: async (css, text) => void (await act(css, 'WebDriver:ElementSendKeys', { text })),
    press: async (css) => void (await act(css, 'WebDriver:ElementClick', {})),
    see: async (css) => void (await find(css)),
    ask: async (script) => valueOf(await send('WebDriver:ExecuteScript', { script, args: [] })),
    forget: async () => void (await send('WebDriver:DeleteAllCookies', {})),
    async picture(name) {
      const folder = process.env.WEB_PICTURES;
      if (!folder) return;
      await mkdir(folder, { recursive: true });
      const shot = valueOf(await send('WebDriver:TakeScreenshot', { full: false }));
      await writeFile(join(folder, `${name}.png`), Buffer.from(String(shot), 'base64'));
    },
  };
}

/** Firefox wraps a result, the driver of WebKit does not. */
function valueOf(result: unknown): unknown {
  const isWrapped = typeof result === 'object' && result !== null && 'value' in result;
  return isWrapped ? result.value : result;
}

function idOf(found: unknown): string | undefined {
  const value = valueOf(found) as Record<string, string> | null;
  return value?.[elementName];
}

const paths: Record<string, [method: string, path: (id: string) => string]> = {
  'WebDriver:Navigate': ['POST', () => '/url'],
  'WebDriver:FindElement': ['POST', () => '/element'],
  'WebDriver:IsElementDisplayed': ['GET', (id) => `/element/${id}/displayed`],
  'WebDriver:ElementSendKeys': ['POST', (id) => `/element/${id}/value`],
  'WebDriver:ElementClick': ['POST', (id) => `/element/${id}/click`],
  'WebDriver:ExecuteScript': ['POST', () => '/execute/sync'],
  'WebDriver:DeleteAllCookies': ['DELETE', () => '/cookie'],
  'WebDriver:TakeScreenshot': ['GET', () => '/screenshot'],
  'WebDriver:SetWindowRect': ['POST', () => '/window/rect'],
  'WebDriver:DeleteSession': ['DELETE', () => ''],
};

/** A session at the driver program that listens at this address. */
export async function openDriver(address: string): Promise<Send> {
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const reply = await fetch(`${address}/session${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    const { value } = (await reply.json()) as { value: unknown };
    if (!reply.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  };
  const made = await ask('POST', '', { capabilities: { alwaysMatch: {} } });
  const { sessionId } = made as { sessionId: string };
  return (command, parameters) => {
    const [method, path] = paths[command]!;
    const { id = '', ...body } = parameters as { id?: string };
    const at = `/${sessionId}${path(id)}`;
    return ask(method, at, method === 'POST' ? body : undefined);
  };
}
