import type { Tamper } from './ingress.ts'

/** A fault planted into a local installation on purpose, to see that a run finds it. Nothing in the services knows of these. */
export type Plant = {
  /** In words, for who asks. */
  readonly does: string
  readonly tamper?: Tamper
  readonly policies?: (text: string) => string
  /** Other settings for the n-th limiter. */
  readonly limiter?: (index: number) => Readonly<Record<string, string>>
  /** Other programs, made in the folder that is told; answers where they are. */
  readonly services?: (folder: string) => Promise<string>
}

export const noPlant: Plant = { does: 'nothing' }

export const plants = {
  'own-buckets': {
    does: 'each limiter counts in its own memory instead of the shared store',
    limiter: () => ({ LIMITER_STORE: 'memory:' }),
  },
} as const satisfies Readonly<Record<string, Plant>>

export type PlantName = keyof typeof plants

export const isPlantName = (text: string): text is PlantName => Object.hasOwn(plants, text)
