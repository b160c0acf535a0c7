import { chmodSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { codeOf, fromJson, messageOf } from '../unknown.ts';
import { exits, Stop, usage } from './exits.ts';
import { makeFolder } from './folders.ts';

/** Settings that `fare` stores between calls. The environment takes precedence. */

export interface Settings {
  base_url?: string;
  /** Valid for `base_url` only: it is never sent to another address. */
  api_key?: string;
  /** Prices above this are asked about first. */
  ask_above_usd?: string;
  /** Prices above this are never paid. */
  max_usd?: string;
  chat_model?: string;
}

export const usualBaseUrl = 'http://localhost:8080/v1';
export const usualAskAboveUsd = '0.25';

const { env, platform } = process;

function folderOf(xdg: string, unix: string, windows: string): string {
  const own = env[xdg];
  if (own && path.isAbsolute(own)) return path.join(own, 'farebox');
  if (platform === 'win32' && env[windows]) return path.join(env[windows], 'farebox');
  if (platform === 'darwin')
    return path.join(homedir(), 'Library', 'Application Support', 'farebox');
  return path.join(homedir(), unix, 'farebox');
}

export function configFolder(): string {
  return folderOf('XDG_CONFIG_HOME', '.config', 'APPDATA');
}

/** The folder of jobs and cached ids, which need no backup. */
export function stateFolder(): string {
  return folderOf('XDG_STATE_HOME', path.join('.local', 'state'), 'LOCALAPPDATA');
}

export function settingsPath(): string {
  return path.join(configFolder(), 'settings.json');
}

export function readSettings(): Settings {
  const file = settingsPath();
  let text: string;
  try {
    // Others could read the key, for example if the file was copied without its mode.
    if (platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    throw usage(`${file} cannot be read: ${messageOf(error)}`);
  }
  try {
    return fromJson(text);
  } catch {
    throw usage(`${file} is not JSON.`, 'Correct it, or remove it and run `fare login`.');
  }
}

export function writeSettings(settings: Settings): void {
  writePrivately(settingsPath(), `${JSON.stringify(settings, null, 2)}\n`);
}

/** Writes the file atomically, readable for its owner only. */
export function writePrivately(file: string, text: string): void {
  const folder = path.dirname(file);
  makeFolder(folder, 0o700);
  // The folder may have existed before, readable for all.
  chmodSync(folder, 0o700);
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, text, { mode: 0o600 });
  renameSync(aside, file);
}

export interface Connection {
  baseUrl: string;
  apiKey: string | null;
}

export function connection(): Connection {
  const kept = readSettings();
  const baseUrl = baseUrlOf(env.FAREBOX_BASE_URL || kept.base_url || usualBaseUrl);
  const own = kept.api_key && baseUrl === kept.base_url ? kept.api_key : null;
  const given = env.FAREBOX_API_KEY?.trim();
  const apiKey = given || own;
  // No header can hold other characters.
  if (apiKey && !/^[!-~]+$/.test(apiKey))
    throw new Stop(
      exits.unauthorized,
      'unauthorized',
      'The key has characters that no key has: a key is one word that begins with fbx_.',
      `The key is the one in ${given ? 'FAREBOX_API_KEY' : settingsPath()}.`,
    );
  return { baseUrl, apiKey };
}

/**
 * The base URL of an address as people write it: without a scheme, without /v1, with a trailing
 * slash, or of a call below /v1.
 */
export function baseUrlOf(given: string): string {
  const text = given.trim();
  if (/^([a-z]+:\/\/)?[^/?#]*@/i.test(text))
    throw usage('The address must not contain a user name or password: the key is sent instead.');
  // A colon ends a scheme, unless a port follows.
  if (/^[a-z][\w+.-]*:(?!\d)/i.test(text) && !/^https?:\/\//i.test(text))
    throw usage(`${JSON.stringify(text)} must begin with http:// or https://.`);
  const isLocal = /^(localhost|127\.|\[::1\])/i.test(text);
  const full = /^https?:/i.test(text) ? text : `${isLocal ? 'http' : 'https'}://${text}`;
  const url = URL.canParse(full) ? new URL(full) : null;
  if (!url) {
    throw usage(`${JSON.stringify(text)} is not an address. It looks like ${usualBaseUrl}.`);
  }
  const where = url.pathname.replace(/\/+$/, '').replace(/(.*\/v1)\/.*/, '$1');
  return `${url.origin}${where === '' ? '/v1' : where}`;
}

export function needKey(): void {
  const { baseUrl, apiKey } = connection();
  if (apiKey) return;
  const kept = readSettings();
  const elsewhere = kept.api_key ? ` The saved key is for ${kept.base_url}.` : '';
  throw new Stop(
    exits.unauthorized,
    'no_key',
    `There is no key for ${baseUrl}.${elsewhere}`,
    'Run `fare login`, or set FAREBOX_API_KEY.',
  );
}
