/** Pages of the studio, in each window, scheme and language (part 2). */
import { walkArea } from './walk-area.ts';

walkArea('studio', 2);
