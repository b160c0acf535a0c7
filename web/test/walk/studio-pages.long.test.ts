/** Pages of the studio, in each window, scheme and language. */
import { walkArea } from './walk-area.ts';

walkArea('studio');
