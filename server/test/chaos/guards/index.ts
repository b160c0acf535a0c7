import { admission } from './admission.ts';
import { fences, intents } from './fences.ts';
import type { Guard } from './guard.ts';
import { laws, money } from './money.ts';
import { operator } from './operator.ts';
import { queue } from './queue.ts';
import { upstreams } from './upstreams.ts';
import { walls } from './walls.ts';

export type { Guard };

export const guards: Guard[] = [
  ...fences,
  ...intents,
  ...money,
  ...laws,
  ...admission,
  ...queue,
  ...upstreams,
  ...walls,
  ...operator,
];
