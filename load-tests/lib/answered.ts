import { Rate } from 'k6/metrics'
import { promised } from './promise.ts'

/** Whether a question was answered with a decision, whichever. */
export const answered = new Rate('answered')

export const allAnswered = promised(
  'answered',
  'rate>=0.999',
  'without a fault everybody is told yes or no; one in a thousand for the network',
)
