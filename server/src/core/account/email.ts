import { domainToASCII, domainToUnicode } from 'node:url';

/** The rule for e-mail addresses at every door. */

const localMax = 64;
const emailMax = 254;

/**
 * The form in which an address is stored, compared and unique: NFKC, lower case, the domain as
 * punycode. Null if this is not a usable address.
 */
export function canonicalEmail(given: string): string | null {
  const trimmed = trim(given);
  if (trimmed.length > emailMax || hidden.test(trimmed)) return null;
  const [local = '', domain = '', ...more] = lower(trimmed).split('@');
  const host = hostOf(domain);
  if (more.length > 0 || host === null || !isLocal(local)) return null;
  const email = `${local}@${host}`;
  return email.length <= emailMax ? email : null;
}

export const emailRule =
  'It needs the form name@domain: letters of one script before the @, and no spaces, quotes or ' +
  'invisible characters.';

/**
 * How an address is looked up: as an earlier version has stored it, else by its form, which is null
 * if it has none.
 */
export function namesOf(given: string): { stored: string; form: string | null } {
  return { stored: trim(given).toLowerCase(), form: canonicalEmail(given) };
}

/** Whether both mean the same mailbox. Addresses of earlier versions may have no canonical form. */
export function isSameEmail(one: string, other: string): boolean {
  return one === other || (canonicalEmail(one) ?? one) === (canonicalEmail(other) ?? other);
}

/**
 * The mailbox by which letters are counted: usual servers deliver `a.da+tag@…` to `ada@…`. `email`
 * is a stored address.
 */
export function mailboxOf(email: string): string {
  const [, local = '', domain = ''] = /^(.*)@(.*)$/s.exec(email) ?? [];
  const host = domain === 'googlemail.com' ? 'gmail.com' : domain;
  return `${local.replace(/(?<=.)\+.*/s, '').replaceAll('.', '')}@${host}`;
}

/** Only of what people type by mistake: any other character makes it another address. */
function trim(given: string): string {
  return given.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
}

/** Lower case may bring back what NFKC has composed, so it is composed again. */
function lower(text: string): string {
  return text.normalize('NFKC').toLowerCase().normalize('NFKC');
}

/**
 * Controls, formats, unassigned and private characters, separators, what is never drawn, and signs
 * that are drawn as nothing.
 */
const hidden = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\uFFFC\u{1D159}]/u;
/** An accent that no letter has: on some letters it is not seen. */
const dotted = /[\x21-\x7e]\p{M}/u;
/** Characters with a meaning of their own in the header of a letter. */
const special = /[()<>[\]:;,"\\]/;

function isLocal(local: string): boolean {
  if (local.length < 1 || local.length > localMax) return false;
  return !hidden.test(local) && !special.test(local) && !dotted.test(local) && hasOneScript(local);
}

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const hostForm = new RegExp(`^${label}(?:\\.${label})*$`);
const ascii = /^[\x21-\x7e]*$/;
/** In a host these would make `domainToASCII` read a port, a path or an encoded character. */
const ofUrls = /[/?#%:@[\]\\^|<>]/;

function hostOf(domain: string): string | null {
  if (hidden.test(domain) || ofUrls.test(domain)) return null;
  const host = domainToASCII(domain);
  // A plain domain that comes back changed was read as a number: 127.1 as 127.0.0.1.
  const isKept = ascii.test(domain) ? host === domain : /[a-z]/.test(host);
  if (!isKept || !hostForm.test(host)) return null;
  // Punycode that means nothing stays as it is.
  return /(^|\.)xn--/.test(domainToUnicode(host)) ? null : host;
}

/** All scripts of Unicode 17 by their codes; those that belong together count as one (UTS 39). */
const scripts = [
  'Hani Hira Kana',
  'Hani Hang',
  'Hani Bopo',
  ...(
    'Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks Brah Brai Bugi Buhd ' +
    'Cakm Cans Cari Cham Cher Chrs Copt Cpmn Cprt Cyrl Deva Diak Dogr Dsrt Dupl Egyp Elba Elym ' +
    'Ethi Gara Geor Glag Gong Gonm Goth Gran Grek Gujr Gukh Guru Hano Hatr Hebr Hluw Hmng Hmnp ' +
    'Hung Ital Java Kali Kawi Khar Khmr Khoj Kits Knda Krai Kthi Lana Laoo Latn Lepc Limb Lina ' +
    'Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Mlym Modi Mong Mroo Mtei ' +
    'Mult Mymr Nagm Nand Narb Nbat Newa Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm ' +
    'Pauc Perm Phag Phli Phlp Phnx Plrd Prti Rjng Rohg Runr Samr Sarb Saur Sgnw Shaw Shrd Sidd ' +
    'Sidt Sind Sinh Sogd Sogo Sora Soyo Sund Sunu Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt ' +
    'Tayo Telu Tfng Tglg Thaa Thai Tibt Tirh Tnsa Todr Tols Toto Tutg Ugar Vaii Vith Wara Wcho ' +
    'Xpeo Xsux Yezi Yiii Zanb'
  ).split(' '),
];

const patterns: RegExp[] = [];

/** Digits, signs and accents belong to every script. */
function hasOneScript(text: string): boolean {
  if (ascii.test(text)) return true;
  // Compiled at the first use, since few addresses need them.
  if (patterns.length === 0) patterns.push(...scripts.map(patternOf));
  return patterns.some((pattern) => pattern.test(text));
}

function patternOf(codes: string): RegExp {
  const classes = `${codes} Zyyy Zinh`.split(' ').map((code) => `\\p{scx=${code}}`);
  return new RegExp(`^[${classes.join('')}]*$`, 'u');
}
