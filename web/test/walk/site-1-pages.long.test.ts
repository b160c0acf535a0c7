/** Pages that need no account, in each window, scheme and language. */
import { walkArea } from './walk-area.ts';

walkArea('site', 1);
