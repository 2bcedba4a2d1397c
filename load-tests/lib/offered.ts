import { countOf, type Figures } from './figures.ts'
import { type Finding, finding } from './finding.ts'

/** What k6 may leave out because it was too busy itself: a run that left out more was another one than it says. */
const MOST_DROPPED = 0.05

export const offeredWhatItSays = (figures: Figures): Finding => {
  const [sent, dropped] = [countOf(figures, 'iterations'), countOf(figures, 'dropped_iterations')]
  return finding(
    'k6 offered what the run says',
    sent > 0 && dropped <= MOST_DROPPED * (sent + dropped),
    `${sent} of ${sent + dropped}, at most ${100 * MOST_DROPPED} % may be left out on a busy machine`,
  )
}
