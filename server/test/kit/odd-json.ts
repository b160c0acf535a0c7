/** Bodies that are invalid JSON, malicious JSON, or only unusual JSON. */

/** The text of one member of an object, inserted into a valid body. */
export interface Member {
  name: string;
  text: string;
}

const nested = (open: string, inner: string, close: string, depth: number) =>
  open.repeat(depth) + inner + close.repeat(depth);

/** Each of these makes the whole body a `bad_request`, whatever else it contains. */
export const brokenMembers: Member[] = [
  { name: 'a trailing comma', text: '"a":1,' },
  { name: 'two commas', text: '"a":1,,"b":2' },
  { name: 'a comment', text: '"a":1 /* why */' },
  { name: 'a comment to the end of the line', text: '"a":1 // why\n' },
  { name: 'NaN', text: '"a":NaN' },
  { name: 'Infinity', text: '"a":Infinity' },
  { name: '-Infinity', text: '"a":-Infinity' },
  { name: 'undefined', text: '"a":undefined' },
  { name: 'single quotes', text: "'a':1" },
  { name: 'a key without quotes', text: 'a:1' },
  { name: 'a value without quotes', text: '"a":b' },
  { name: 'no colon', text: '"a" 1' },
  { name: 'no value', text: '"a":' },
  { name: '1e400', text: '"a":1e400' },
  { name: '1E309', text: '"a":1E309' },
  { name: '-1e400', text: '"a":-1e400' },
  { name: 'a number of 10,000 digits', text: `"a":${'9'.repeat(10_000)}` },
  { name: 'a leading zero', text: '"a":01' },
  { name: 'a plus sign', text: '"a":+1' },
  { name: 'a bare fraction', text: '"a":.5' },
  { name: 'a bare point', text: '"a":5.' },
  { name: 'hexadecimal', text: '"a":0x10' },
  { name: 'a number of a big integer', text: '"a":1n' },
  { name: 'a line break in a text', text: '"a":"b\nc"' },
  { name: 'a tab in a text', text: '"a":"b\tc"' },
  { name: 'an unknown escape', text: '"a":"\\x41"' },
  { name: 'half an escape', text: '"a":"\\u00"' },
  { name: 'a text without end', text: '"a":"b' },
  { name: 'a list without end', text: '"a":[1,2' },
  { name: '\\u0000 in a text', text: String.raw`"a":"b\u0000c"` },
  { name: '\\u0000 in a key', text: String.raw`"a\u0000":1` },
  { name: '\\u0000 deep inside', text: String.raw`"a":[{"b":["\u0000"]}]` },
  { name: 'half a surrogate pair', text: String.raw`"a":"\ud800"` },
  { name: 'the other half', text: String.raw`"a":"\udc00x"` },
  { name: 'the halves in the wrong order', text: String.raw`"a":"\udc00\ud800"` },
  { name: 'half a surrogate pair in a key', text: String.raw`"\ud83d":1` },
  { name: '__proto__', text: '"__proto__":{"isAdmin":true}' },
  { name: '__proto__ in disguise', text: String.raw`"\u005f_proto__":1` },
  { name: '__proto__ deep inside', text: '"a":[{"__proto__":null}]' },
  { name: 'constructor.prototype', text: '"constructor":{"prototype":{"isAdmin":true}}' },
  { name: '70 lists', text: `"a":${nested('[', '', ']', 70)}` },
  { name: '1,000 lists', text: `"a":${nested('[', '', ']', 1_000)}` },
  { name: '10,000 lists', text: `"a":${nested('[', '', ']', 10_000)}` },
  { name: '70 objects', text: `"a":${nested('{"a":', '1', '}', 70)}` },
  { name: '10,000 objects', text: `"a":${nested('{"a":', '1', '}', 10_000)}` },
  { name: '200,000 open lists', text: `"a":${'['.repeat(200_000)}` },
  { name: '100,000 open objects', text: `"a":${'{"a":'.repeat(100_000)}` },
  { name: 'a list of 100,001', text: `"a":[${'0,'.repeat(100_000)}0]` },
];

/** Whole bodies that are refused as `bad_request`. */
export const brokenBodies: { name: string; body: Buffer }[] = [
  ['nothing', ''],
  ['a blank', ' '],
  ['a byte order mark', '\uFEFF{}'],
  ['a list', '[]'],
  ['a list of an object', '[{}]'],
  ['a text', '"x"'],
  ['a number', '1'],
  ['null', 'null'],
  ['true', 'true'],
  ['an open brace', '{'],
  ['a closing brace', '}'],
  ['a brace too many', '{}}'],
  ['two objects', '{}{}'],
  ['lines of JSON', '{}\n{}'],
  ['a form', 'prompt=x&num_images=1'],
  ['markup', '<prompt>x</prompt>'],
  ['YAML', 'prompt: x'],
  ['a guard against theft', ")]}',\n{}"],
].map(([name, text]) => ({ name: name!, body: Buffer.from(text!) }));

/** The valid body in encodings other than UTF-8. */
export function brokenEncodings(good: string): { name: string; body: Buffer }[] {
  const within = (bytes: number[]) => {
    const text = Buffer.from(good);
    const at = text.indexOf('"', 2) + 1;
    return Buffer.concat([
      text.subarray(0, 1),
      Buffer.from('"a'),
      Buffer.from(bytes),
      Buffer.from('":1,'),
      text.subarray(1, at),
      text.subarray(at),
    ]);
  };
  return [
    { name: 'UTF-16, little end first', body: Buffer.from(good, 'utf16le') },
    { name: 'UTF-16, big end first', body: Buffer.from(good, 'utf16le').swap16() },
    { name: 'the byte FF', body: within([0xff]) },
    { name: 'a NUL written in two bytes', body: within([0xc0, 0x80]) },
    { name: 'a slash written in two bytes', body: within([0xc0, 0xaf]) },
    { name: 'a character cut in two', body: within([0xe2, 0x82]) },
    { name: 'a surrogate written in UTF-8', body: within([0xed, 0xa0, 0x80]) },
    { name: 'a character beyond the last', body: within([0xf4, 0x90, 0x80, 0x80]) },
    { name: 'Latin-1', body: within([0xe9]) },
    { name: 'a raw NUL', body: within([0x00]) },
    { name: 'a good body cut short', body: Buffer.from(good).subarray(0, -1) },
  ];
}

/** Unusual but valid: a body with one of these is accepted. */
export const oddMembers: Member[] = [
  { name: 'toJSON', text: '"toJSON":"x"' },
  { name: 'then', text: '"then":{"then":1}' },
  { name: 'hasOwnProperty', text: '"hasOwnProperty":1' },
  { name: 'length', text: '"length":-1' },
  { name: 'constructor alone', text: '"constructor":"x"' },
  { name: 'prototype alone', text: '"prototype":{"a":1}' },
  { name: 'toString and valueOf', text: '"toString":null,"valueOf":0' },
  { name: '__defineGetter__', text: '"__defineGetter__":1' },
  { name: 'an empty key', text: '"":1' },
  { name: 'a key of a dollar', text: '"$ref":"#/x","$where":"1"' },
  { name: '2^53 + 1', text: '"a":9007199254740993' },
  { name: '2^63 and 2^64', text: '"a":9223372036854775808,"b":18446744073709551616' },
  { name: '-0', text: '"a":-0' },
  { name: 'the least number', text: '"a":5e-324' },
  { name: 'the greatest number', text: '"a":1.7976931348623157e308' },
  { name: '400 decimals', text: `"a":0.${'1'.repeat(400)}` },
  { name: 'a key given twice', text: '"a":1,"a":2' },
  { name: 'all escapes', text: String.raw`"a":"\"\\\/\b\f\n\r\t\u0001\ud83d\ude00"` },
  { name: 'text from right to left', text: '"a":"\u202Eabc\u202C\u200B\uFEFF\uFFFD\uFFFF"' },
  { name: 'a key of 100,000 characters', text: `"${'k'.repeat(100_000)}":1` },
  { name: '60 lists', text: `"a":${nested('[', '', ']', 60)}` },
  { name: '50,000 keys', text: Array.from({ length: 50_000 }, (_, i) => `"k${i}":${i}`).join() },
  { name: 'a list of 90,000', text: `"a":[${'0,'.repeat(90_000)}0]` },
  { name: 'SQL', text: `"a":"'; drop table requests; --"` },
  { name: 'white space of every kind', text: '\r\n\t "a" \r\n:\t1 ' },
];
