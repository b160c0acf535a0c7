/** Pages of the studio, in each window, scheme and language (part 1). */
import { walkArea } from './walk-area.ts';

walkArea('studio', 1);
