import { folders } from './case.ts';
import { playCases } from './play-cases.ts';

/** The two largest folders have a file of their own, so that they are played at the same time. */
const apart = new Set(['calls', 'completions']);

playCases(folders.filter((folder) => !apart.has(folder)));
