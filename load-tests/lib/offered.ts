import { countOf, type Figures } from './figures.ts'
import { type Finding, finding } from './finding.ts'

/**
 * What k6 may leave out because too many callers still wait or it is too busy itself. It leaves out when answers are slowest, so that
 * of a p99 with more than a hundredth left out nobody knows what it would have been.
 */
const MOST_DROPPED = 0.01

export const offeredWhatItSays = (figures: Figures): Finding => {
  const [sent, dropped] = [countOf(figures, 'iterations'), countOf(figures, 'dropped_iterations')]
  return finding(
    'k6 offered what the run says',
    sent > 0 && dropped <= MOST_DROPPED * (sent + dropped),
    `${sent} of ${sent + dropped}, at most ${100 * MOST_DROPPED} % may be left out`,
  )
}
