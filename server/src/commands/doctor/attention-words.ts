import type { AttentionLine, Problem } from '../../operations/attention.ts';
import { findingsOf, type Diagnosis } from './finding.ts';

/** The console's lines of attention, in words for a terminal. */

type Words = [says: string, todo: string];

const words: Record<Problem, Words> = {
  restored_copy: [
    'This database is a restored copy: nothing is started or sent',
    'Stop the service that it was copied from, then run: farebox resume-after-restore',
  ],
  books_broken: [
    'The books do not balance: these laws are broken',
    'Run farebox audit for the rows. Change none by hand (docs/ledger.md).',
  ],
  books_old: [
    'The books were not proved for a long time',
    'Look whether a worker runs and what its log says of audits; or run: farebox audit',
  ],
  disk_low: [
    'A disk is nearly full: new requests are refused',
    'Make room on it, or move the folder to a larger disk.',
  ],
  storage_away: [
    'The storage does not take files: images and videos wait',
    'See FAREBOX_STORAGE, and docs/operating/outages.md#storage-away.',
  ],
  clock_skew: [
    "The database's clock differs from this machine's, by",
    'Let both follow one time server (chrony, systemd-timesyncd).',
  ],
  credential_refused: [
    'Upstreams reject your key',
    'Set a new one with farebox upstream key NAME, then: farebox upstream test NAME',
  ],
  credit_used_up: [
    'Your account at an upstream is out of credit',
    'Top it up there, then: farebox upstream resume NAME',
  ],
  upstream_paused: [
    'Upstreams are paused',
    'farebox upstream list shows the last error; farebox upstream resume NAME ends a pause.',
  ],
  model_paused: [
    'Models are paused at an upstream',
    'farebox upstream list shows the last error; farebox upstream resume NAME --model MODEL ends a pause.',
  ],
  jobs_stranded: [
    'Jobs run at upstreams that are not set up here',
    'Set them up again until the jobs have ended (docs/upstreams.md#taking-one-away).',
  ],
  queue_old: [
    'Requests wait so long that new ones will soon be refused',
    'Raise the concurrency of the upstream, or add a route to another one.',
  ],
  xpub_differs: [
    'An extended public key differs from the stored one: no address is shown',
    'Look who changed the setting; farebox deposit rotate-xpub takes a new key on purpose.',
  ],
  chain_stopped: [
    'Chains are not read: their deposits are not credited',
    'farebox chain list says why; farebox chain resume NAME goes on.',
  ],
  chain_refused: [
    'Chains have a wrong setting: their addresses are not shown',
    'farebox chain list says which; farebox chain check NAME asks its endpoints.',
  ],
  chain_behind: [
    'Chains are read late: their deposits wait',
    'Look whether a worker runs; farebox chain check NAME asks its endpoints.',
  ],
  chain_rescan_late: [
    'Chains are not read a second time: missed deposits are not found',
    'Look whether a worker runs; farebox chain list shows how far it came.',
  ],
  deposits_held: [
    'Deposits are held',
    'farebox deposit list --state held shows why; farebox deposit credit or ignore decides.',
  ],
  chain_single_endpoint: [
    'Chains have only one endpoint: nobody else confirms their deposits',
    'Give FAREBOX_RPC_NAME a second address of another company.',
  ],
  models_stopped: ['An operator has stopped models', 'farebox model list shows the notes.'],
  costs_exceed_charges: [
    'Models cost more than they earned within a day',
    'Raise the price, or stop selling: farebox model stop ID',
  ],
  unknown_outcomes: [
    'Outcomes of requests are unknown: an upstream may have been paid',
    'Look there, then note it: farebox unknown list, farebox request resolve ID',
  ],
  events_unsent: [
    'Your webhook did not accept events',
    'farebox event list shows its answers; see FAREBOX_OPERATOR_WEBHOOK_URL.',
  ],
  catalog_problems: ['Catalog files have problems', 'farebox catalog check names the lines.'],
  rows_left_out: [
    'Models are left out because of problems in their files',
    'farebox catalog check names the lines.',
  ],
  sold_below_cost: [
    'Models are priced below their cost',
    'farebox catalog check names the lines: raise price or correct cost.',
  ],
};

/** An operator may have wanted these; nothing is broken. */
const wanted = new Set<Problem>(['chain_single_endpoint', 'models_stopped', 'sold_below_cost']);

export function inWords({ what, count, of, since }: AttentionLine): Diagnosis {
  const [says, todo] = words[what];
  const named = of.length === 0 ? '' : `: ${of.join(', ')}${count > of.length ? ', …' : ''}`;
  const oldest = since === undefined ? '' : `, the oldest since ${since.toISOString()}`;
  const make = findingsOf(what.replaceAll('_', ' '));
  return (wanted.has(what) ? make.note : make.wrong)(`${says}${named}${oldest}.`, todo);
}
