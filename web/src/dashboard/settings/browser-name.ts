/**
 * Names a browser from its user agent. The first match wins, because most browsers also claim to be
 * others.
 */

const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera/, 'Opera'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
  [/^node$|^undici/, 'Node.js'],
];

const systems: [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

export function browserOf(userAgent: string | null): {
  name: string | null;
  system: string | null;
  isPhone: boolean;
} {
  const find = (table: [RegExp, string][]) =>
    table.find(([form]) => form.test(userAgent ?? ''))?.[1] ?? null;
  const isPhone = /\bMobile\b|\bAndroid\b|\biPhone\b/.test(userAgent ?? '');
  return { name: find(browsers), system: find(systems), isPhone };
}
