import { clientFaults } from './client-promises.ts'
import { lawFaults } from './law.ts'
import { refusalFaults } from './refusals.ts'
import { accountingFaults, storeFaults, witnessFaults } from './store-promises.ts'
import type { Told } from './told.ts'

/** What of all that was promised was not kept, for a person to read. */
export const brokenPromises = (told: Told): readonly string[] => [
  ...lawFaults(told),
  ...refusalFaults(told),
  ...accountingFaults(told),
  ...witnessFaults(told),
  ...storeFaults(told),
  ...clientFaults(told),
]
