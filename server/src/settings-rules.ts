import type { Config } from './config.ts';
import { isWebhookSecret } from './core/request/webhook.ts';
import { typoOf } from './lib/nearest.ts';
import { because, judgeOperatorUrl } from './lib/outbound/address.ts';

/** Rules for several settings, and for their names. The form of each setting is in `config.ts`. */

type Name = keyof Config & string;

/** A setting that has no effect without another one. */
const needs: readonly [Name, Name][] = [
  ['FAREBOX_OPERATOR_WEBHOOK_URL', 'FAREBOX_OPERATOR_WEBHOOK_SECRET'],
  ['FAREBOX_OPERATOR_WEBHOOK_SECRET', 'FAREBOX_OPERATOR_WEBHOOK_URL'],
  ['FAREBOX_OIDC_ISSUER', 'FAREBOX_OIDC_CLIENT_ID'],
  ['FAREBOX_OIDC_CLIENT_ID', 'FAREBOX_OIDC_ISSUER'],
  ['FAREBOX_OIDC_CLIENT_SECRET', 'FAREBOX_OIDC_ISSUER'],
  ['DATABASE_READ_URL', 'DATABASE_URL'],
];

/**
 * Shortest signing secret: a shorter one could be found by trying, and it gives access to every
 * output.
 */
export const secretMinLength = 32;
const baseUrlForm = /^https?:\/\/[^/?#\s]+(\/[^?#\s]*)?\/v1$/;

/** One sentence for each rule that these settings break. `isGiven`: not a default. */
export function brokenRules(config: Config, isGiven: (name: Name) => boolean): string[] {
  const lone = needs.filter(([name, other]) => config[name] !== null && config[other] === null);
  return [
    ...lone.map(([name, other]) => `${name} needs ${other}.`),
    ...wrongSecrets(config),
    ...wrongAddresses(config),
    ...wrongLimits(config, isGiven),
  ];
}

function wrongSecrets(config: Config): string[] {
  const short = (['FAREBOX_SECRET', 'FAREBOX_SECRET_PREVIOUS'] as const).filter((name) => {
    const given = config[name];
    return given !== null && given.length < secretMinLength;
  });
  const problems = short.map((name) => `${name} must have at least ${secretMinLength} characters.`);
  const signing = config.FAREBOX_OPERATOR_WEBHOOK_SECRET;
  if (signing !== null && !signing.split(/\s+/).every(isWebhookSecret))
    problems.push(
      'FAREBOX_OPERATOR_WEBHOOK_SECRET must be whsec_ and the base64 of 24 to 64 bytes.',
    );
  return problems;
}

function wrongAddresses({ FAREBOX_BASE_URL: base, FAREBOX_WEB_URL: web }: Config): string[] {
  const problems: string[] = [];
  const baseVerdict = base === null ? null : judgeOperatorUrl(base);
  if (base !== null && !(baseUrlForm.test(base) && baseVerdict?.ok))
    problems.push(
      `FAREBOX_BASE_URL must be an http or https address that ends in /v1${because(baseVerdict)}.`,
    );
  const webVerdict = web === null ? null : judgeOperatorUrl(web);
  if (webVerdict && !(webVerdict.ok && webVerdict.url.origin === web))
    problems.push(
      `FAREBOX_WEB_URL must be like https://farebox.example.com, without a path${because(webVerdict)}.`,
    );
  return problems;
}

function wrongLimits(config: Config, isGiven: (name: Name) => boolean): string[] {
  const problems: string[] = [];
  if (config.FAREBOX_STEP_TIMEOUT_SECONDS >= config.FAREBOX_LEASE_SECONDS)
    problems.push(
      'FAREBOX_STEP_TIMEOUT_SECONDS must be less than FAREBOX_LEASE_SECONDS, or a step could outlive its lease.',
    );
  for (const name of ['RPM', 'OPEN_JOBS', 'OPEN_CHATS'] as const) {
    const account = config[`FAREBOX_ACCOUNT_${name}`];
    if (account !== null && account < config[`FAREBOX_${name}`])
      problems.push(`FAREBOX_ACCOUNT_${name} must be at least FAREBOX_${name}.`);
  }
  // A larger default contradicts nobody.
  const areGiven = isGiven('FAREBOX_UPLOAD_MAX_BYTES') && isGiven('FAREBOX_FILES_MAX_BYTES');
  if (areGiven && config.FAREBOX_UPLOAD_MAX_BYTES > config.FAREBOX_FILES_MAX_BYTES)
    problems.push(
      'FAREBOX_UPLOAD_MAX_BYTES must be at most FAREBOX_FILES_MAX_BYTES, or such a file is never taken.',
    );
  return problems;
}

/**
 * One sentence for each variable whose name is nearly that of a setting. Other unknown names may
 * belong to a catalog file, or come from Kubernetes, which sets such as `FAREBOX_SERVICE_HOST`.
 * `files`: the settings that a file may hold.
 */
export function misspelt(
  env: NodeJS.ProcessEnv,
  names: readonly string[],
  files: readonly string[],
): string[] {
  const known = new Set([...names, ...files.map((name) => `${name}_FILE`)]);
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return given.flatMap(([name, value]) => {
    if (!/^farebox_/i.test(name) || known.has(name)) return [];
    const held = name.replace(/_FILE$/, '');
    if (held !== name && names.includes(held))
      return [`${name}: only a secret is read from a file. Set ${held}.`];
    const meant = meantBy(name, value!, [...known]);
    return meant === null ? [] : [`${name} is no setting. Did you mean ${meant}?`];
  });
}

function meantBy(name: string, value: string, known: string[]): string | null {
  const end = name.slice('FAREBOX_'.length);
  // Kubernetes sets FAREBOX_PORT to tcp://… beside a service with the name farebox.
  if (known.includes(end) && !value.startsWith('tcp://')) return end;
  const own = known.filter((each) => each.startsWith('FAREBOX_'));
  const ends = own.map((each) => each.slice('FAREBOX_'.length));
  const found = ends.find((each) => each.startsWith(`${end}_`)) ?? typoOf(end, ends);
  return found === null ? null : `FAREBOX_${found}`;
}
